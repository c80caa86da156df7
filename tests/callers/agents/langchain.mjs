// An agent of LangChain in node, before a proxy.

import { ChatOpenAI } from "@langchain/openai";
import { createAgent, createMiddleware, tool } from "langchain";
import { STRICT, noteCall, serve } from "./loop.mjs";

let messages = [];

// Forces a tool in the first request.
function forcing(name) {
  let toolChoice = name === "none" ? "none" : { type: "function", function: { name } };
  return createMiddleware({
    name: "Forcing",
    wrapModelCall: (request, handler) => {
      const first = toolChoice;
      toolChoice = "auto";
      return handler({ ...request, toolChoice: first });
    },
  });
}

async function ask(text, settings) {
  const { about, forced, strict, streams } = settings;
  const called = [];
  const free = { type: "object", properties: { path: { type: "string" } } };
  const schema = strict ? STRICT : free;
  const tools = Object.entries(about).map(([name, description]) =>
    tool(noteCall(called, name, settings), { name, description, schema }),
  );
  const model = new ChatOpenAI({ model: "gpt-5.4", maxRetries: 0, supportsStrictToolCalling: strict });
  const agent = createAgent({ model, tools, middleware: forced ? [forcing(forced)] : [] });
  let state = { messages: [...messages, { role: "user", content: text }] };
  if (streams) {
    for await (const [mode, part] of await agent.stream(state, { streamMode: ["messages", "values"] }))
      if (mode === "values") state = part;
  } else {
    state = await agent.invoke(state);
  }
  messages = state.messages;
  return called;
}

await serve(ask);
