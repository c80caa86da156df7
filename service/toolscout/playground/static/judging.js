// Which of the tools was wanted, marked by hand, as questions for `toolscout evaluate`.

import { byId, count, make } from "./dom.js";

const LINES = "application/jsonl";

export class Judging {
  #judged = new Map(); // for each list of names: from a question to { wanted, shown }
  #names = "";

  /** Other tools; questions about them are kept apart. */
  use(names) {
    if (this.#judged.get(this.#names)?.size === 0) this.#judged.delete(this.#names);
    this.#names = JSON.stringify(names);
    if (!this.#judged.has(this.#names)) this.#judged.set(this.#names, new Map());
  }

  /** A button for each name of an answer, and the line below; none for a conversation. */
  about({ question, answer }) {
    if (question.pattern === undefined) return { tick: () => null, line: null };
    const text = question.pattern.trim();
    const status = make("p", { className: "hint", role: "status" });
    const ticks = new Map();
    const none = make("button", { type: "button" }, "No tool fits");
    const download = make("button", { type: "button" }, "Download questions");
    const other = make("input", { ariaLabel: "Another tool was wanted", placeholder: "another tool …", autocomplete: "off" });
    other.setAttribute("list", "names");

    const show = () => {
      const wanted = this.#wanted(text);
      for (const [name, button] of ticks) button.setAttribute("aria-pressed", String(wanted?.has(name) ?? false));
      none.setAttribute("aria-pressed", String(wanted?.size === 0));
      status.textContent = this.#tally(text, ticks);
      download.hidden = this.#here.size === 0;
    };
    const judge = (wanted) => {
      if (wanted === null) this.#here.delete(text);
      else this.#here.set(text, { wanted, shown: answer.selected_names });
      show();
    };
    const toggle = (name) => {
      const wanted = new Set(this.#wanted(text));
      if (!wanted.delete(name)) wanted.add(name);
      judge(wanted.size > 0 ? wanted : null);
    };

    none.addEventListener("click", () => judge(this.#wanted(text)?.size === 0 ? null : new Set()));
    download.addEventListener("click", () => save("questions.jsonl", this.#lines()));
    other.addEventListener("change", () => {
      const name = other.value.trim();
      const known = [...byId("names").options].some((option) => option.value === name);
      other.setAttribute("aria-invalid", String(name !== "" && !known));
      if (!known) return;
      other.value = "";
      if (!this.#wanted(text)?.has(name)) toggle(name);
    });
    const tick = (name) => {
      const button = make("button", { type: "button", className: "tick", ariaLabel: `${name} was wanted` }, "Wanted");
      button.addEventListener("click", () => toggle(name));
      ticks.set(name, button);
      return button;
    };
    const line = make("div", { className: "judging" }, "Tick what was wanted, or", other, none, download, status);
    queueMicrotask(show); // when the answer's names have their buttons
    return { tick, line };
  }

  get #here() {
    return this.#judged.get(this.#names);
  }

  #wanted(text) {
    return this.#here.get(text)?.wanted;
  }

  /** What is wanted beside the names that are shown, and how many answers held all that was wanted. */
  #tally(text, shown) {
    if (this.#here.size === 0) return "";
    const others = [...(this.#wanted(text) ?? [])].filter((name) => !shown.has(name));
    const right = [...this.#here.values()].filter(({ wanted, shown: names }) =>
      wanted.size === 0 ? names.length === 0 : [...wanted].every((name) => names.includes(name)),
    );
    const missed = others.length > 0 ? `Wanted, and not shown: ${others.join(", ")}. ` : "";
    return `${missed}${count(this.#here.size, "question")} judged, ${right.length} answered right.`;
  }

  #lines() {
    const lines = [...this.#here].map(([query, { wanted }]) => JSON.stringify({ query, tools: [...wanted] }));
    return `${lines.join("\n")}\n`;
  }
}

function save(name, text) {
  const href = URL.createObjectURL(new Blob([text], { type: LINES }));
  make("a", { href, download: name }).click();
  URL.revokeObjectURL(href);
}
