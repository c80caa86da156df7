import { Configuration, SelectionApi } from "./typescript-fetch";

async function main(): Promise<void> {
  const api = new SelectionApi(new Configuration({ basePath: process.argv[2] }));
  const answer = await api.search({
    searchRequest: {
      pattern: "find code",
      topK: 1,
      tools: [
        { name: "search_code", description: "Search the code of a repository", definition: { type: "object" } },
        { name: "send_email", description: "Send a message to an address" },
      ],
    },
  });
  console.log(answer.selectedNames[0]);
}

void main();
