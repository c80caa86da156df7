// Making elements. Text only ever becomes a text node, so no tool can bring markup of its own.

export const byId = (id) => document.getElementById(id);

/** `make("p", { className: "x" }, "text", child)`; children that are null are left out. */
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Numbers as a reader likes them: 12,345, or with a noun: 1 tool, 12,345 tools. */
export function count(number, noun = "") {
  const written = number.toLocaleString("en");
  return noun ? `${written} ${noun}${number === 1 ? "" : "s"}` : written;
}

/** A share in per cent, rounded down so that a part never becomes all: 99.5 %. */
export function percent(part, whole) {
  const share = (100 * part) / whole;
  return `${share > 99 && share < 100 ? Math.floor(share * 10) / 10 : Math.floor(share)} %`;
}

export const milliseconds = (number) =>
  `${number < 10 ? number.toFixed(2) : Math.round(number)} ms`;
