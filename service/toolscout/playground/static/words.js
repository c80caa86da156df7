// What the page's terms mean, in a sentence, on hover, focus or tap.

import { make } from "./dom.js";

const MEANINGS = {
  ranker: "The way tools are ordered. Auto takes hybrid, unless the question is written as an expression.",
  hybrid: "The rankings by words and by meaning, fused into one. The default.",
  bm25: "Counts the words that question and tool share; rare words weigh more.",
  semantic: "Compares the meaning of question and tool by a small language model.",
  keyword: "A mere scan for the words, while the tools are still being read.",
  regex: "Takes the question as a regular expression; if nothing matches, its words.",
  match: "Enough evidence: the model sees these tools.",
  weak: "Some evidence, little confidence: the model sees the best few.",
  no_match: "No tool has enough evidence. The answer is empty, and a proxy shows every tool.",
  evidence: "Something that speaks for a tool: a word it shares with the question, or a near meaning.",
  score: "How likely the tool is wanted, 0 to 1, judged alone. The order weighs more: names that the question means, several wishes in it, what was learned; tools that are kept or that another one needs come last. So a later tool may have a higher score.",
  cut: "The most names that the answer may have (top_k). What follows would have been next.",
  digest: "A fingerprint of the tools. Tools that the service has seen need not be sent again.",
  top_k: "The most names that the answer may have. Often fewer have evidence.",
  prerequisites: "Adds the tool that finds what another one requires, such as a customer_id.",
  always_keep: "Tools that stand in every answer, after those that fit better.",
};

/** A term that explains itself; `text` is how it is written here. */
export function word(key, text) {
  if (!MEANINGS[key]) return make("span", {}, text);
  const button = make("button", { type: "button", className: "word", ariaDescription: MEANINGS[key] }, text);
  button.dataset.word = key;
  return button;
}

/** Show the meaning of whatever has `data-word`, below it. */
export function explainWords(bubble) {
  const of = (event) => event.target.closest?.("[data-word]");

  const show = (target) => {
    bubble.textContent = MEANINGS[target.dataset.word];
    bubble.showPopover();
    const { left, bottom } = target.getBoundingClientRect();
    const widest = document.documentElement.clientWidth - bubble.offsetWidth - 8;
    bubble.style.insetInlineStart = `${Math.max(8, Math.min(left, widest))}px`;
    bubble.style.insetBlockStart = `${bottom + 6}px`;
  };
  const hide = () => bubble.hidePopover();

  for (const term of document.querySelectorAll("[data-word]")) {
    term.ariaDescription = MEANINGS[term.dataset.word];
  }
  document.addEventListener("click", (event) => (of(event) ? show(of(event)) : hide()));
  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "mouse") of(event) ? show(of(event)) : hide();
  });
  document.addEventListener("focusin", (event) => (of(event) ? show(of(event)) : hide()));
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  addEventListener("scroll", hide, { passive: true });
}
