// What the agents in node share: they read settings, questions and removals as lines of JSON; see loop.py.

import { createInterface } from "node:readline";

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
