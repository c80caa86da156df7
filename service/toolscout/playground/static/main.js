// The page's story: tools come in, a question is typed, answers are shown.

import { Asking } from "./asking.js";
import { Code } from "./code.js";
import { columns } from "./columns.js";
import { byId, make } from "./dom.js";
import { Judging } from "./judging.js";
import { Keeping } from "./keeping.js";
import { keyboard } from "./keyboard.js";
import { keepInAddress, restore } from "./link.js";
import { problem } from "./problems.js";
import { Problem, Service } from "./service.js";
import { sources } from "./sources.js";
import { spoken, summary } from "./summary.js";
import { explainWords } from "./words.js";

const MOST = 50; // names that can be asked for here; nobody reads more

const service = new Service();
const code = new Code(service);
const query = byId("query");
const judging = new Judging();
const keeping = new Keeping(() => ask(0));
const asking = new Asking(service, { answered, failed });
let tools = new Map();

function question() {
  const topK = Math.trunc(Number(byId("top-k").value));
  const kept = keeping.names;
  return {
    ...asked(query.value),
    top_k: Math.min(Math.max(topK || 1, 1), MOST),
    ranker: document.querySelector("[name=ranker]:checked").value,
    ...(kept.length > 0 && { always_keep: kept }),
    ...(!byId("prerequisites").checked && { prerequisites: false }),
  };
}

/** A text, or a conversation that is pasted as JSON. */
function asked(text) {
  if (/^\s*\[\s*\{/.test(text)) {
    try {
      return { messages: JSON.parse(text) };
    } catch {
      // not JSON: a text that begins like it
    }
  }
  return { pattern: text };
}

function ask(pauseMs) {
  keepInAddress(keeping.names);
  if (tools.size === 0 || !query.value.trim()) {
    asking.stop();
    clear();
    return;
  }
  byId("results").setAttribute("aria-busy", "true");
  asking.ask(question(), pauseMs);
}

function clear() {
  byId("results").setAttribute("aria-busy", "false");
  byId("problem").hidden = true;
  byId("summary").hidden = true;
  byId("rankers").hidden = true;
  code.show(null);
  byId("columns").replaceChildren();
  byId("spoken").textContent = "";
}

function answered(result) {
  const at = focusedPin();
  clear();
  const price = Number(byId("price").value);
  byId("summary").replaceChildren(...summary(result, { tools, price, judged: judging.about(result) }));
  byId("summary").hidden = false;
  byId("rankers").hidden = false;
  code.show(result.question);
  byId("columns").replaceChildren(...columns(result, tools));
  byId("spoken").textContent = spoken(result);
  if (at) byId("columns").querySelector(at)?.focus();
}

/** Answers are drawn anew; whoever was in a ranking stays at the same tool. */
function focusedPin() {
  const pin = document.activeElement?.closest?.(".pin");
  const ranker = pin?.closest(".ranker").dataset.ranker;
  return pin && `[data-ranker="${ranker}"] .pin[data-name="${CSS.escape(pin.dataset.name)}"]`;
}

function failed(error) {
  clear();
  byId("problem").replaceChildren(...problem(error, () => ask(0)));
  byId("problem").hidden = false;
  const needsKey = error instanceof Problem && error.status === 401;
  if (needsKey) byId("settings").open = true;
  byId("key").setAttribute("aria-invalid", String(needsKey));
}

/** Other tools; a question of theirs is asked if there is none, or if `replaced`. */
function use(found, examples, replaced = false) {
  tools = new Map(found.map((tool) => [tool.name, tool]));
  service.use(found);
  judging.use([...tools.keys()]);
  if (tools.size > 0) keeping.offer([...tools.keys()]);
  byId("examples").replaceChildren(...examples.map(example));
  if ((!query.value || replaced) && examples.length > 0) query.value = examples[0];
  ask(0);
}

function example(text) {
  const button = make("button", { type: "button" }, text);
  button.addEventListener("click", () => {
    query.value = text;
    ask(0);
  });
  return make("li", {}, button);
}

query.addEventListener("input", () => ask());
for (const id of ["top-k", "price"]) byId(id).addEventListener("input", () => ask());
byId("prerequisites").addEventListener("change", () => ask(0));
for (const radio of document.getElementsByName("ranker")) radio.addEventListener("change", () => ask(0));
byId("key").addEventListener("input", (event) => {
  service.key = event.target.value.replace(/[^\x21-\x7e]/g, ""); // what a header may hold
  event.target.removeAttribute("aria-invalid");
  ask();
});
byId("key-form").addEventListener("submit", (event) => event.preventDefault());
keyboard(() => ask(0));
explainWords(byId("meaning"));
keeping.start(restore());
sources(use).catch(failed);
