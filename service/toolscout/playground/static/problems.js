// What went wrong, in words that say what to do.

import { make } from "./dom.js";
import { Problem, Unreachable } from "./service.js";

const ADVICE = {
  unauthorized: "This service has keys: put yours into the field API key under Settings.",
  payload_too_large: "Fewer or shorter tools will do, or a larger max_body_bytes of the service.",
  too_many_tools: "Fewer tools will do, or a larger max_tools of the service.",
  overloaded: "It is busy; it will be free again in a moment.",
  rate_limited: "More was asked than the service's rate_limit allows; wait a moment.",
};

/** A card with the problem and a button that asks once more. */
export function problem(error, again) {
  const button = make("button", { type: "button" }, "Try again");
  button.addEventListener("click", again);
  return [...told(error), button];
}

function told(error) {
  if (error instanceof Unreachable) {
    return [
      make("h2", {}, "The service does not answer"),
      make("p", {}, `${error.message}. Is it still running?`),
    ];
  }
  if (error instanceof Problem) {
    return [
      make("h2", {}, error.title),
      make("p", {}, [error.message, ADVICE[error.code]].filter(Boolean).join(". ")),
      make("p", { className: "hint" }, "code ", make("code", {}, error.code), `, status ${error.status}, request `, make("code", {}, error.requestId)),
    ];
  }
  return [make("h2", {}, "Something in this page went wrong"), make("p", {}, String(error))];
}
