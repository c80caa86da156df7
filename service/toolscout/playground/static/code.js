// The search in code, one way at a time, with a button that copies it; and the page's address.

import { byId, count } from "./dom.js";
import { SNIPPETS } from "./snippets.js";
import { asPasted } from "./tools.js";

const SHOWN = 1_500; // letters of tools that are shown; a copy has all of them

export class Code {
  #service;
  #question = null;

  constructor(service) {
    this.#service = service;
    for (const radio of document.getElementsByName("code")) radio.addEventListener("change", () => this.#show());
    byId("copy").addEventListener("click", () => copy(this.#text(), this.#copied));
    byId("copy-link").addEventListener("click", () => copy(location.href, linked()));
  }

  /** Show the search of another question; null hides it. */
  show(question) {
    this.#question = question;
    byId("code").hidden = question === null;
    if (question !== null) this.#show();
  }

  #show() {
    const { toolsText, tools } = this.#service;
    const instead = toolsText.length > SHOWN ? `[ … ${count(tools.length, "tool")} … ]` : null;
    byId("snippet").textContent = this.#text(instead);
    byId("copied").textContent = "";
    byId("by-hand").hidden = true;
  }

  /** The text, with all tools or with something in their place. */
  #text(instead = null) {
    const { url, digest, key, toolsText, tools } = this.#service;
    const call = { url, digest, question: this.#question, needsKey: Boolean(key) };
    const asWritten = () => JSON.stringify(tools.map(asPasted));
    return SNIPPETS[way()]({ ...call, tools: instead ?? (way() === "python" ? asWritten() : toolsText) });
  }

  get #copied() {
    const about = this.#service.key ? " It takes the key from the variable API_KEY." : "";
    return way() === "digest" ? `Copied.${about} It works while the service keeps the tools.` : `Copied.${about}`;
  }
}

const way = () => document.querySelector("[name=code]:checked").value;

const linked = () =>
  document.querySelector("[name=source]:checked").value === "own"
    ? "Copied. It has the question and the settings, not your tools."
    : "Copied.";

/** Copy a text, or show it for copying by hand where a browser does not let a page do so. */
async function copy(text, note) {
  const field = byId("by-hand");
  let isCopied = false;
  try {
    await navigator.clipboard.writeText(text); // over plain HTTP there is no clipboard
    isCopied = true;
  } catch {
    // Then the field has it.
  }
  byId("copied").textContent = isCopied ? note : "Copy it from here:";
  field.hidden = isCopied;
  if (isCopied) return;
  field.value = text;
  field.select();
}
