// What a proxy would get: the names, how sure, what it saves, how long it took.

import { count, make, milliseconds } from "./dom.js";
import { MEANINGS, outcome } from "./outcomes.js";

/** The parts of the answer's card, apart from its buttons. */
export function summary({ answer, tripMs }) {
  const { tokens, counts } = answer;
  const saved = tokens.offered ? Math.round((100 * tokens.saved) / tokens.offered) : 0;
  return [
    figure("Outcome", [outcome(answer.outcome), make("span", { className: "by" }, `by ${answer.ranker}`)], [
      MEANINGS[answer.outcome],
      ...degraded(answer),
    ]),
    figure("Tools", [arrow(counts.unique, counts.selected)], [
      `${count(counts.ranked)} have some evidence`,
      pinned(answer),
    ]),
    figure(
      "Prompt tokens",
      [arrow(tokens.offered, tokens.selected), make("span", { className: "saved" }, `${saved} % saved`)],
      [],
      share(tokens),
    ),
    figure("Time", [milliseconds(total(answer)), make("span", { className: "by" }, "in the service")], [
      phases(answer),
      `${milliseconds(tripMs)} there and back`,
    ]),
  ];
}

/** The same for those who listen. */
export function spoken({ answer }) {
  const names = answer.selected_names.slice(0, 5).join(", ") || "nothing";
  const { tokens } = answer;
  return `${answer.outcome.replace("_", " ")}: ${names}. ${count(tokens.saved)} of ${count(tokens.offered)} tokens saved.`;
}

function figure(title, value, lines, extra = null) {
  return make(
    "div",
    { className: "figure" },
    make("h3", {}, title),
    make("p", { className: "value" }, ...value),
    extra,
    ...lines.filter(Boolean).map((line) => make("p", { className: "hint" }, line)),
  );
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

function share({ offered, selected }) {
  const bar = make("span", { className: "bar", ariaHidden: "true" }, make("span"));
  bar.firstChild.style.inlineSize = `${offered ? (100 * selected) / offered : 0}%`;
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

const total = ({ timings_ms }) => Object.values(timings_ms).reduce((sum, part) => sum + part, 0);

const phases = ({ timings_ms }) =>
  Object.entries(timings_ms)
    .map(([phase, spent]) => `${phase} ${milliseconds(spent)}`)
    .join(" · ");
