import { createClient } from "./client/client";
import { search } from "./client/sdk.gen";

async function main(): Promise<void> {
  const client = createClient({ baseUrl: process.argv[2] });
  const { data, error } = await search({
    client,
    body: {
      pattern: "find code",
      top_k: 1,
      tools: [
        { name: "search_code", description: "Search the code of a repository", definition: { type: "object" } },
        { name: "send_email", description: "Send a message to an address" },
      ],
    },
  });
  if (error) throw new Error(JSON.stringify(error));
  console.log(data.selected_names[0]);
}

void main();
