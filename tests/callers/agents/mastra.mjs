// An agent of Mastra, before a proxy.

import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import * as z from "zod";
import { STRICT, noteCall, serve } from "./loop.mjs";

let messages = [];

async function ask(text, settings) {
  const { about, forced, strict, streams } = settings;
  const called = [];
  const free = { type: "object", properties: { path: { type: "string" } } };
  // Mastra requires arguments with a default as well, and reads null as that default.
  const expected = { note: null, copies: 1 };
  const inputSchema = strict ? STRICT.extend({ copies: z.number().default(1) }) : free;
  const tools = Object.fromEntries(
    Object.entries(about).map(([id, description]) => [
      id,
      createTool({ id, description, inputSchema, execute: noteCall(called, id, settings, expected) }),
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
