// How sure an answer is, in a word and in a sentence.

import { make } from "./dom.js";

const WORDS = { match: "match", weak: "weak", no_match: "no match" };

export const MEANINGS = {
  match: "Enough evidence: the model sees these.",
  weak: "Some evidence, little confidence: the best few.",
  no_match: "No word and no meaning is near: a proxy shows every tool.",
};

export function outcome(name) {
  const badge = make("span", { className: "outcome" }, WORDS[name] ?? name);
  badge.dataset.outcome = name;
  return badge;
}
