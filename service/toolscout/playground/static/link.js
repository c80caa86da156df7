// The address of what is shown: question and settings. Pasted tools, their names and the key never
// get into it; and it stands behind the #, which browsers keep from the service.

import { byId } from "./dom.js";

const chosen = (name) => document.querySelector(`[name=${name}]:checked`).value;

/** The settings as they stand on the page. */
function settings(kept) {
  const own = chosen("source") === "own";
  return new URLSearchParams([
    ["q", byId("query").value],
    ["tools", chosen("source")],
    ["ranker", chosen("ranker")],
    ["top_k", byId("top-k").value],
    ...(byId("prerequisites").checked ? [] : [["prerequisites", "false"]]),
    ...(own ? [] : kept.map((name) => ["keep", name])),
  ]);
}

/** Put what is shown into the address, without a step in the browser's history. */
export function keepInAddress(kept) {
  history.replaceState(null, "", `#${settings(kept)}`);
}

/** Set the page as its address says; returns the names to keep. What it does not know is left out. */
export function restore() {
  const said = new URLSearchParams(location.hash.slice(1));
  const choose = (name) => {
    const radio = [...document.getElementsByName(name)].find(({ value }) => value === said.get(name));
    if (radio) radio.checked = true;
  };
  const sample = said.get("tools");
  if (sample) said.set("source", sample);
  for (const name of ["source", "ranker"]) choose(name);
  byId("query").value = said.get("q") ?? "";
  if (Number(said.get("top_k")) >= 1) byId("top-k").value = said.get("top_k");
  byId("prerequisites").checked = said.get("prerequisites") !== "false";
  addEventListener("hashchange", () => location.reload()); // another link in the same window
  return said.getAll("keep");
}
