// What the agents in node share: they read settings, questions and removals as lines of JSON; see loop.py.

import { createInterface } from "node:readline";
import * as z from "zod";

// The arguments of a tool of which all are required, and one may be null.
export const STRICT = z.object({ path: z.string(), note: z.string().nullable() });

// Returns what a tool does: it notes its call, if what the model left out is given as expected.
export function noteCall(called, name, { strict }, expected = { note: null }) {
  return (given) => {
    const isGiven = Object.entries(expected).every(([key, value]) => given[key] === value);
    if (!strict || isGiven) called.push(name);
    return "sent";
  };
}

// `ask(text, settings)` answers a question with the names of the tools that were called.
export async function serve(ask) {
  let settings;
  for await (const line of createInterface({ input: process.stdin })) {
    const asked = JSON.parse(line);
    let answer = { ready: true };
    if (asked.about) {
      settings = asked;
    } else if (asked.drop) {
      delete settings.about[asked.drop];
      continue;
    } else {
      try {
        answer = { called: await ask(asked.ask, settings) };
      } catch (error) {
        answer = { error: String(error), kinds: kinds(error) };
      }
      settings.forced = "";
    }
    console.log(JSON.stringify(answer));
  }
}

function kinds(error) {
  const names = [];
  for (let kind = error; kind; kind = Object.getPrototypeOf(kind)) names.push(kind.constructor.name);
  return names;
}
