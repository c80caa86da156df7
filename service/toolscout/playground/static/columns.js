// The ranking of each ranker, side by side: what it selects and why, and what fell below the cut.

import { count, make, milliseconds } from "./dom.js";
import { outcome } from "./outcomes.js";
import { word } from "./words.js";

const ABOUT = {
  hybrid: ["Hybrid", "words and meaning, fused"],
  bm25: ["BM25", "words, weighed by rarity"],
  semantic: ["Semantic", "meaning alone"],
  regex: ["Regex", "an expression, else its words"],
};
const REASONS = 4; // shown at once; the rest unfolds

/** The cards of all rankers; `tools` has the descriptions by name. */
export function columns({ question, answer, columns: found }, tools) {
  return found.map((column) => card(column, question, answer.ranker, tools));
}

function card({ name, answer, cut }, question, used, tools) {
  const [title, about] = ABOUT[name];
  const heading = make("h2", { id: `ranker-${name}` }, word(name, title));
  if (name === used) heading.append(make("span", { className: "used" }, "the answer"));
  const list = make("ol", { className: "ranking" });
  list.append(...answer.matches.map((match) => row(match, tools)));
  const section = make(
    "article",
    { className: "card ranker" },
    make("header", {}, heading, outcome(answer.outcome)),
    make("p", { className: "hint" }, `${about} · ${milliseconds(answer.timings_ms.total)}`),
    ...notes(answer),
    answer.matches.length > 0 ? list : nothing(),
    ...(cut.length > 0 ? below(cut, question.top_k, tools) : []),
    evidence(answer.counts),
  );
  section.setAttribute("aria-labelledby", heading.id);
  section.dataset.ranker = name;
  section.classList.toggle("is-used", name === used);
  return section;
}

const evidence = ({ ranked, unique }) =>
  make("p", { className: "hint rest" }, `${count(ranked)} of ${count(unique, "tool")}: `, word("evidence", "some evidence"));

const nothing = () =>
  make("p", { className: "nothing" }, "Nothing fits well enough. A proxy then shows every tool.");

function notes({ degraded, notes: told = [] }) {
  const lines = degraded && degraded !== "no" ? [`stepped down: ${degraded}`, ...told] : told;
  const className = lines === told ? "note" : "note is-warning";
  return lines.map((line) => make("p", { className }, line));
}

function below(cut, topK, tools) {
  const list = make("ol", { className: "ranking cut" });
  list.append(...cut.map((match) => row(match, tools)));
  const line = make("p", { className: "cut-line" }, word("cut", `cut at ${topK}`));
  return [line, list];
}

function row({ name, score, reasons, pinned }, tools) {
  const bar = make("span", { className: "bar", ariaHidden: "true" }, make("span"));
  bar.firstChild.style.inlineSize = `${Math.max(score * 100, 1)}%`;
  const pin = make("button", {
    type: "button",
    className: "pin",
    ariaLabel: `Always keep ${name}`,
    ariaPressed: String(pinned),
    title: pinned ? "Kept always" : "Always keep",
  });
  pin.dataset.name = name;
  const { description: about } = tools.get(name) ?? {};
  return make(
    "li",
    {},
    make(
      "div",
      { className: "line" },
      make("span", { className: "name" }, name),
      make("span", { className: "score" }, make("span", { className: "unseen" }, "score "), certainty(score)),
      pin,
    ),
    bar,
    about ? make("p", { className: "about" }, about) : null,
    why(reasons, pinned),
  );
}

/** Two digits, and never 1.00 for what is not certain. */
const certainty = (score) => (score < 1 ? Math.min(score, 0.99) : 1).toFixed(2);

function why(reasons, pinned) {
  const chips = reasons.map(chip);
  if (pinned) chips.unshift(make("li", { className: "is-pin" }, "pinned"));
  if (chips.length === 0) return null;
  const list = make("ul", { className: "reasons", ariaLabel: "Reasons" });
  list.append(...chips.slice(0, REASONS));
  const rest = chips.slice(REASONS);
  if (rest.length > 0) {
    const more = make("ul", { className: "reasons", ariaLabel: "More reasons" });
    more.append(...rest);
    list.append(
      make("li", { className: "more" }, make("details", {}, make("summary", {}, `${rest.length} more`), more)),
    );
  }
  return list;
}

function chip({ field, term, via, weight }) {
  const share = weight.toFixed(2);
  if (via === "semantic") return make("li", {}, make("b", {}, "meaning"), ` ${share}`);
  return make("li", { title: `${via} in ${field}` }, make("b", {}, term), ` ${via} · ${field} ${share}`);
}
