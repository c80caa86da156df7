// An agent of the Vercel AI SDK, before a proxy.

import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, jsonSchema, streamText, tool } from "ai";
import { STRICT, noteCall, serve } from "./loop.mjs";

const openai = createOpenAI({ apiKey: "none", baseURL: process.env.OPENAI_BASE_URL });
let messages = [];

async function ask(text, settings) {
  const called = [];
  const { forced, strict, streams } = settings;
  const free = jsonSchema({ type: "object", properties: { path: { type: "string" } } });
  const inputSchema = strict ? STRICT : free;
  const tools = Object.fromEntries(
    Object.entries(settings.about).map(([name, description]) => [
      name,
      tool({ description, inputSchema, strict, execute: noteCall(called, name, settings) }),
    ]),
  );
  messages.push({ role: "user", content: text });
  const first = forced === "none" ? "none" : { type: "tool", toolName: forced };
  const options = {
    model: openai.chat("gpt-5.4"),
    maxRetries: 0,
    messages,
    tools,
    stopWhen: isStepCount(5),
    prepareStep: ({ stepNumber }) => ({ toolChoice: forced && stepNumber === 0 ? first : "auto" }),
  };
  const failed = [];
  const result = streams
    ? streamText({ ...options, onError: ({ error }) => failed.push(error) })
    : await generateText(options);
  if (streams) await result.consumeStream();
  if (failed.length > 0) throw failed[0];
  messages = [...messages, ...(await result.response).messages];
  return called;
}

await serve(ask);
