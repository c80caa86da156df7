// How sure an answer is, in a word.

import { word } from "./words.js";

export function outcome(name) {
  const badge = word(name, name.replace("_", " "));
  badge.classList.add("outcome");
  badge.dataset.outcome = name;
  return badge;
}
