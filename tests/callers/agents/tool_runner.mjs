// Anthropic's tool runner in node, asked through lines of JSON as the agents in Python; see loop.py.

import Anthropic from "@anthropic-ai/sdk";
import * as z from "zod";
import { STRICT, noteCall, serve } from "./loop.mjs";

const options = process.argv[2] === "sent" ? { thread: false } : {};
const client = new Anthropic({
  apiKey: "k",
  baseURL: process.env.ANTHROPIC_BASE_URL,
  maxRetries: 0,
  fetch: send,
});
let sent = 0;
const messages = [];

function tool([name, description], called, settings) {
  const { strict } = settings;
  const run = noteCall(called, name, settings);
  const free = { type: "object", properties: { path: { type: "string" } } };
  const input_schema = strict ? z.toJSONSchema(STRICT) : free;
  const parse = (input) => (strict ? STRICT.parse(input) : input);
  return { name, description, input_schema, strict, run, parse };
}

function choice(forced) {
  if (!forced) return {};
  return { tool_choice: forced === "none" ? { type: "none" } : { type: "tool", name: forced } };
}

// Only the first request of a question forces or forbids a tool.
function send(url, init) {
  if (sent++ === 0) return fetch(url, init);
  const { tool_choice, ...body } = JSON.parse(init.body);
  return fetch(url, { ...init, body: JSON.stringify(body) });
}

async function ask(text, settings) {
  const called = [];
  sent = 0;
  messages.push({ role: "user", content: text });
  const runner = client.beta.messages.toolRunner({
    model: "claude-opus-5",
    max_tokens: 9,
    max_iterations: 5,
    messages: [...messages],
    tools: Object.entries(settings.about).map((about) => tool(about, called, settings)),
    stream: settings.streams,
    ...options,
    ...choice(settings.forced),
    ...(settings.thinks ? { thinking: { type: "enabled", budget_tokens: 1024 } } : {}),
  });
  let last;
  for await (const turn of runner) {
    last = settings.streams ? await turn.finalMessage() : turn;
  }
  messages.push({ role: "assistant", content: last.content });
  return called;
}

await serve(ask);
