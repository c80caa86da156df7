// What a proxy would get: the names, how sure, what it saves, how long it took.

import { count, make, milliseconds, percent } from "./dom.js";
import { outcome } from "./outcomes.js";
import { word } from "./words.js";

const ABOUT_A_GUESS = "A guess: these tools may be unrelated to the question.";
const ABOUT_NOTHING = "Nothing fits well enough: the answer is empty, and a proxy shows every tool.";

const QUESTIONS = 1_000; // as many as a price is given for

/**
 * The parts of the answer's card, apart from its buttons. `tools` has the descriptions by name, `price`
 * is in dollars a million tokens, `judged` has the buttons that mark what was wanted.
 */
export function summary({ answer, tripMs }, { tools, price, judged }) {
  const { counts } = answer;
  const tokens = shownTokens(answer);
  const saved = `${percent(tokens.offered - tokens.shown, tokens.offered)} saved`;
  const isGuess = answer.outcome === "weak";
  return [
    make("p", { className: "verdict" }, outcome(answer.outcome), " by ", word(answer.ranker, answer.ranker)),
    ...(isGuess ? [make("p", { className: "guess" }, ABOUT_A_GUESS)] : []),
    answer.matches.length > 0 ? names(answer.matches, tools, judged.tick) : make("p", { className: "nothing" }, ABOUT_NOTHING),
    ...(judged.line ? [judged.line] : []),
    figure("Tools", [arrow(counts.unique, isEmpty(answer) ? counts.unique : counts.selected)], [
      word("evidence", `${count(counts.ranked)} share words or meaning with it`),
      pinned(answer),
    ]),
    figure(
      "Prompt tokens",
      [arrow(tokens.offered, tokens.shown), !isGuess && make("span", { className: "saved" }, saved)],
      [price > 0 && money(tokens, price)],
      share(tokens),
    ),
    figure("Time", [milliseconds(answer.timings_ms.total), make("span", { className: "by" }, "in the service")], [
      phases(answer),
      `${milliseconds(tripMs)} there and back`,
      ...degraded(answer),
    ]),
  ];
}

const isEmpty = (answer) => answer.selected_names.length === 0;

/** Tokens of all tools, and of those that a caller shows: all of them where the answer is empty. */
function shownTokens(answer) {
  const { offered, selected } = answer.tokens;
  return { offered, shown: isEmpty(answer) ? offered : selected };
}

function names(matches, tools, tick) {
  const list = make("ol", { className: "names" });
  list.append(
    ...matches.map(({ name }) =>
      make(
        "li",
        {},
        make("span", { className: "name" }, name),
        make("span", { className: "about" }, tools.get(name)?.description ?? ""),
        ...[tick(name)].filter(Boolean),
      ),
    ),
  );
  return list;
}

/** The same for those who listen. */
export function spoken({ answer }) {
  const names = answer.selected_names.slice(0, 5).join(", ") || "nothing";
  const { offered, shown } = shownTokens(answer);
  if (answer.outcome === "weak") return `weak: ${names}. ${ABOUT_A_GUESS}`;
  return `${answer.outcome.replace("_", " ")}: ${names}. ${count(offered - shown)} of ${count(offered)} tokens saved.`;
}

function figure(title, value, lines, extra = null) {
  return make(
    "div",
    { className: "figure" },
    make("h2", {}, title),
    make("p", { className: "value" }, ...value.filter(Boolean)),
    extra,
    ...lines.filter(Boolean).map((line) => make("p", { className: "hint" }, line)),
  );
}

function money({ offered, shown }, price) {
  const dollars = (tokens) => `$${((tokens * QUESTIONS * price) / 1e6).toFixed(2)}`;
  return `${dollars(offered)} → ${dollars(shown)} for ${count(QUESTIONS)} questions`;
}

const arrow = (before, after) =>
  make(
    "span",
    {},
    make("span", { className: "before" }, count(before)),
    make("span", { ariaHidden: "true", className: "to" }, " → "),
    make("span", { className: "unseen" }, " become "),
    make("span", {}, count(after)),
  );

function share({ offered, shown }) {
  const bar = make("span", { className: "bar", ariaHidden: "true" }, make("span"));
  bar.firstChild.style.inlineSize = `${offered ? (100 * shown) / offered : 0}%`;
  return bar;
}

function pinned({ matches }) {
  const names = matches.filter((match) => match.pinned).map((match) => match.name);
  return names.length > 0 ? `pinned: ${names.join(", ")}` : "";
}

const degraded = (answer) => [
  ...(answer.degraded === "no" ? [] : [`stepped down: ${answer.degraded}`]),
  ...(answer.notes ?? []),
];

const phases = ({ timings_ms }) =>
  Object.entries(timings_ms)
    .filter(([phase]) => phase !== "total")
    .map(([phase, spent]) => `${phase} ${milliseconds(spent)}`)
    .join(" · ");
