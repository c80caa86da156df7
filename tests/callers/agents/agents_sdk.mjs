// An agent of the OpenAI Agents SDK in node, before a proxy.

import { Agent, run, tool } from "@openai/agents";
import { STRICT, noteCall, serve } from "./loop.mjs";

let messages = [];

async function ask(text, settings) {
  const { about, forced, strict, streams } = settings;
  const called = [];
  const properties = { path: { type: "string" } };
  const free = { type: "object", properties, required: [], additionalProperties: true };
  const parameters = strict ? STRICT : free;
  const tools = Object.entries(about).map(([name, description]) =>
    tool({ name, description, parameters, strict, execute: noteCall(called, name, settings) }),
  );
  const modelSettings = forced ? { toolChoice: forced } : {};
  const agent = new Agent({ name: "mailer", model: "gpt-5.4", modelSettings, tools });
  messages.push({ role: "user", content: text });
  const result = await run(agent, messages, { stream: streams, maxTurns: 5 });
  if (streams) await result.completed;
  messages = result.history;
  return called;
}

await serve(ask);
