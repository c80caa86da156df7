// Where tools come from: a sample, the text field, a file that is chosen or dropped.

import { byId, count } from "./dom.js";
import { JsonError } from "./json.js";
import { readTools } from "./tools.js";

const PAUSE_MS = 250;

/** Calls `use(tools, examples, replaced)` whenever there are other tools; `replaced` wants an example asked. */
export function sources(use) {
  const paste = byId("paste");
  let timer = 0;

  const loaded = (tools, text, examples, replaced = false) => {
    byId("loaded").textContent = `${count(tools.length, "tool")}, ${count(Math.ceil(text.length / 1_024))} KB as JSON`;
    byId("small").hidden = paste.value !== "";
    use(tools, examples, replaced);
  };

  /** No tools: nothing of other tools may be left on the page. */
  const emptied = (why) => {
    byId("loaded").textContent = why;
    byId("small").hidden = paste.value !== "";
    use([], []);
  };

  const read = (text) => {
    clearTimeout(timer);
    complain("");
    if (!text.trim()) return emptied("No tools yet: paste some, or drop a file.");
    try {
      loaded(readTools(text), text, []);
    } catch (error) {
      complain(worded(error));
      emptied("No tools.");
    }
  };

  const sample = async (name) => {
    emptied("Loading…");
    const text = await fetched(name);
    if (chosen() !== name) return; // somebody was faster
    loaded(readTools(text), text, Object.keys(JSON.parse(text).examples));
  };

  /** A few tools to be seen and changed, with a question. */
  const small = async () => {
    const { examples, tools } = JSON.parse(await fetched("small"));
    paste.value = `[\n${tools.map((tool) => `  ${JSON.stringify(tool)}`).join(",\n")}\n]`;
    loaded(readTools(paste.value), paste.value, Object.keys(examples), true);
  };

  const choose = () => {
    byId("own").hidden = chosen() !== "own";
    if (chosen() !== "own") return sample(chosen());
    read(paste.value);
    paste.focus();
  };

  const take = async (file) => {
    if (!file) return;
    document.querySelector("[name=source][value=own]").checked = true;
    byId("own").hidden = false;
    paste.value = await file.text();
    read(paste.value);
  };

  for (const radio of document.getElementsByName("source")) radio.addEventListener("change", choose);
  paste.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => read(paste.value), PAUSE_MS);
  });
  byId("small").addEventListener("click", small);
  byId("file").addEventListener("change", (event) => take(event.target.files[0]));
  addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("is-dragging");
  });
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) document.body.classList.remove("is-dragging");
  });
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("is-dragging");
    take(event.dataTransfer.files[0]);
  });
  return choose();
}

const fetched = async (name) => (await fetch(new URL(`playground/${name}.json`, document.baseURI))).text();

const chosen = () => document.querySelector("[name=source]:checked").value;

function complain(message) {
  const fault = byId("fault");
  fault.textContent = message;
  fault.hidden = !message;
  byId("paste").setAttribute("aria-invalid", String(Boolean(message)));
}

const worded = (error) =>
  error instanceof JsonError
    ? `Not JSON: line ${error.line}, column ${error.column}: ${error.message}.`
    : `No tools: ${error.message}.`;
