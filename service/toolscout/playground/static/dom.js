// Making elements. Text only ever becomes a text node, so no tool can bring markup of its own.

export const byId = (id) => document.getElementById(id);

/** `make("p", { className: "x" }, "text", child)`; children that are null are left out. */
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Numbers as a reader likes them: 12,345. */
export const count = (number) => number.toLocaleString("en");

export const milliseconds = (number) =>
  `${number < 10 ? number.toFixed(2) : Math.round(number)} ms`;
