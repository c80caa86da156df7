// The names that are always kept: written into the field, or pinned in a ranking.

import { byId, make } from "./dom.js";

export class Keeping {
  #names = [];
  #known = new Set();
  #changed;

  constructor(changed) {
    this.#changed = changed;
    const field = byId("keep");
    field.addEventListener("change", () => this.#written(field));
    byId("kept").addEventListener("click", (event) => this.#pressed(event));
    byId("columns").addEventListener("click", (event) => this.#pressed(event));
  }

  /** Names from a link, kept once the tools that have them are there. */
  start(names) {
    this.#names = names;
  }

  get names() {
    return this.#names;
  }

  /** Other tools: names that are not among them are kept no longer. */
  offer(names) {
    this.#known = new Set(names);
    this.#names = this.#names.filter((name) => this.#known.has(name));
    byId("names").replaceChildren(...names.map((value) => make("option", { value })));
    this.#show();
  }

  toggle(name) {
    const kept = this.#names.includes(name);
    this.#names = kept ? this.#names.filter((other) => other !== name) : [...this.#names, name];
    this.#show();
    this.#changed();
  }

  #written(field) {
    const name = field.value.trim();
    const wrong = name !== "" && !this.#known.has(name);
    field.setAttribute("aria-invalid", String(wrong));
    if (!name || wrong) return;
    field.value = "";
    if (!this.#names.includes(name)) this.toggle(name);
  }

  #pressed(event) {
    const button = event.target.closest("button[data-name]");
    if (button) this.toggle(button.dataset.name);
  }

  #show() {
    const chips = this.#names.map((name) => {
      const button = make("button", { type: "button", ariaLabel: `Keep ${name} no longer` }, name);
      button.dataset.name = name;
      return make("li", {}, button);
    });
    byId("kept").replaceChildren(...chips);
  }
}
