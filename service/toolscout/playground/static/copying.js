// The call as curl, with the tools or by their digest, and the page's address; shown for copying by
// hand where a page may not.

import { copy, curl } from "./curl.js";
import { make } from "./dom.js";
import { word } from "./words.js";

export function copyButtons(service, question) {
  const status = make("p", { className: "hint", role: "status" });
  const text = make("textarea", { readOnly: true, rows: 4, hidden: true, ariaLabel: "To copy" });
  const button = (label, content, note) => {
    const made = make("button", { type: "button" }, label);
    made.addEventListener("click", async () => {
      const copied = await copy(content());
      status.textContent = copied ? note() : "Copy it from here:";
      text.hidden = copied;
      if (!copied) {
        text.value = content();
        text.select();
      }
    });
    return made;
  };
  const command = (body) => () => curl(service.url, body(), Boolean(service.key));
  return make(
    "div",
    { className: "copying" },
    button("Copy as curl", command(() => withTools(question, service.toolsText)), () => copiedCall(service)),
    button("… by digest", command(() => JSON.stringify({ ...question, catalog: service.digest })), () => copiedCall(service)),
    button("Copy link", () => location.href, () => copiedLink()),
    word("digest", "digest?"),
    status,
    text,
  );
}

const copiedCall = (service) =>
  service.key ? "Copied. It takes the key from the variable API_KEY." : "Copied.";

const copiedLink = () =>
  document.querySelector("[name=source]:checked").value === "own"
    ? "Copied. It has the question and the settings, not your tools."
    : "Copied.";

const withTools = (question, tools) => `${JSON.stringify(question).slice(0, -1)},"tools":${tools}}`;
