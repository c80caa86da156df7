// "Copy as curl", with the tools or by their digest; shown for copying by hand where a page may not.

import { copy, curl } from "./curl.js";
import { make } from "./dom.js";

export function copyButtons(service, question) {
  const status = make("p", { className: "hint", role: "status" });
  const text = make("textarea", { readOnly: true, rows: 4, hidden: true, ariaLabel: "The call as curl" });
  const button = (label, body) => {
    const made = make("button", { type: "button" }, label);
    made.addEventListener("click", async () => {
      const command = curl(service.url, body(), Boolean(service.key));
      const copied = await copy(command);
      status.textContent = copied ? copiedNote(service) : "Copy it from here:";
      text.hidden = copied;
      if (!copied) {
        text.value = command;
        text.select();
      }
    });
    return made;
  };
  return make(
    "div",
    { className: "copying" },
    button("Copy as curl", () => withTools(question, service.toolsText)),
    button("… by digest", () => JSON.stringify({ ...question, catalog: service.digest })),
    status,
    text,
  );
}

const copiedNote = (service) =>
  service.key ? "Copied. It takes the key from the variable API_KEY." : "Copied.";

const withTools = (question, tools) => `${JSON.stringify(question).slice(0, -1)},"tools":${tools}}`;
