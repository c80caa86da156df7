// An agent of Mastra, before a proxy.

import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { serve } from "./loop.mjs";

let messages = [];

async function ask(text, { about, forced, streams }) {
  const called = [];
  const inputSchema = { type: "object", properties: { path: { type: "string" } } };
  const tools = Object.fromEntries(
    Object.entries(about).map(([id, description]) => [
      id,
      createTool({ id, description, inputSchema, execute: async () => (called.push(id), "sent") }),
    ]),
  );
  const model = { id: "openai/gpt-5.4", url: process.env.OPENAI_BASE_URL, apiKey: "none" };
  const agent = new Agent({ id: "mailer", name: "mailer", instructions: "do what is asked", model, tools });
  messages.push({ role: "user", content: text });
  const first = forced === "none" ? "none" : { type: "tool", toolName: forced };
  const options = {
    maxSteps: 5,
    modelSettings: { maxRetries: 0 },
    prepareStep: ({ stepNumber }) => ({ toolChoice: forced && stepNumber === 0 ? first : "auto" }),
  };
  const answer = streams
    ? await (await agent.stream(messages, options)).getFullOutput()
    : await agent.generate(messages, options);
  if (answer.error) throw answer.error;
  messages = [...messages, ...answer.response.messages];
  return called;
}

await serve(ask);
