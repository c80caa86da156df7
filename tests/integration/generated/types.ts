import type { components } from "./schema";

type SearchRequest = components["schemas"]["SearchRequest"];
type SearchAnswer = components["schemas"]["SearchAnswer"];

const request: SearchRequest = {
  pattern: "find code",
  top_k: 1,
  tools: [
    {
      name: "search_code",
      description: "Search the code of a repository",
      definition: { type: "object", properties: { query: { type: "string" } } },
    },
    { name: "send_email", description: "Send a message to an address" },
  ],
};
async function main(): Promise<void> {
  const response = await fetch(`${process.argv[2]}/v1/tool-discovery/search`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(request),
  });
  const answer = (await response.json()) as SearchAnswer;
  console.log(answer.selected_names[0]);
}

void main();
