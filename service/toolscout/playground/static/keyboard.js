// Without a mouse: slash to the query, Escape clears it, arrows walk through the rankings.

import { byId } from "./dom.js";

export function keyboard(cleared) {
  const query = byId("query");

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/" && !event.target.closest("input:not([type=radio]), textarea")) {
      event.preventDefault();
      query.focus();
      query.select();
    } else if (event.key === "Escape" && event.target === query) {
      query.value = "";
      cleared();
    } else if (event.key === "Escape" && event.target.closest("#columns")) {
      query.focus();
    } else if (event.key === "ArrowDown" && event.target === query) {
      event.preventDefault();
      byId("rankers").open = true;
      byId("columns").querySelector(".pin")?.focus();
    } else if (event.target.matches(".pin")) {
      walk(event);
    }
  });
}

/** Up and down within a ranking; left and right to the next, at the same height. */
function walk(event) {
  const columns = [...document.querySelectorAll(".ranker")].filter((card) => card.querySelector(".pin"));
  const pins = (card) => [...card.querySelectorAll(".pin")];
  const column = columns.indexOf(event.target.closest(".ranker"));
  const row = pins(columns[column]).indexOf(event.target);
  const target = {
    ArrowUp: () => pins(columns[column])[row - 1] ?? byId("query"),
    ArrowDown: () => pins(columns[column])[row + 1],
    ArrowLeft: () => beside(columns[column - 1]),
    ArrowRight: () => beside(columns[column + 1]),
  }[event.key]?.();
  if (!target) return;
  event.preventDefault();
  target.focus();

  function beside(card) {
    return card && (pins(card)[row] ?? pins(card).at(-1));
  }
}
