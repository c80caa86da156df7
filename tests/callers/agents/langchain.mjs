// An agent of LangChain in node, before a proxy.

import { ChatOpenAI } from "@langchain/openai";
import { createAgent, createMiddleware, tool } from "langchain";
import { serve } from "./loop.mjs";

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

async function ask(text, { about, forced, streams }) {
  const called = [];
  const schema = { type: "object", properties: { path: { type: "string" } } };
  const tools = Object.entries(about).map(([name, description]) =>
    tool(() => (called.push(name), "sent"), { name, description, schema }),
  );
  const model = new ChatOpenAI({ model: "gpt-5.4", maxRetries: 0 });
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
