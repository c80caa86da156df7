// The service: tools go to it once, and after that only their digest.

const SEARCH = new URL("v1/tool-discovery/search", document.baseURI).href;
const PATIENCE_MS = 60_000; // the longest latency budget: a first look waits for the whole compile

/** The service answered with a problem document, or with something that is none. */
export class Problem extends Error {
  constructor(status, body, requestId) {
    super(body.detail ?? body.title ?? `status ${status}`);
    this.status = status;
    this.code = body.code ?? "unknown";
    this.title = body.title ?? "The service answered with an error";
    this.requestId = body.request_id ?? requestId ?? "none";
  }
}

/** Nobody answered. */
export class Unreachable extends Error {}

export class Service {
  key = "";
  url = SEARCH;
  tools = [];
  #tools = "[]";
  #digest = null;
  #sending = null;

  get digest() {
    return this.#digest;
  }

  /** The tools as JSON, written once however often they are searched. */
  get toolsText() {
    return this.#tools;
  }

  use(tools) {
    this.tools = tools;
    this.#tools = JSON.stringify(tools);
    this.#digest = null;
    this.#sending = null;
  }

  /** Search by digest; a service that has forgotten the tools gets them once more. */
  async search(fields, signal) {
    await this.#known();
    const digest = this.#digest;
    try {
      return await this.#byDigest(fields, signal);
    } catch (error) {
      if (error.code !== "catalog_unknown") throw error;
      if (this.#digest === digest) this.#digest = null;
      await this.#known();
      return this.#byDigest(fields, signal);
    }
  }

  /** Have the tools sent and compiled. Typing goes on meanwhile, and waits for the one sending. */
  async #known() {
    while (this.#digest === null) {
      this.#sending ??= this.#send();
      await this.#sending;
    }
  }

  async #send() {
    const tools = this.#tools;
    const fields = { pattern: "tools", top_k: 1, explain: true, latency_budget_ms: PATIENCE_MS };
    try {
      const { answer } = await post(`${JSON.stringify(fields).slice(0, -1)},"tools":${tools}}`, this.#headers());
      if (this.#tools === tools) this.#digest = answer.catalog;
    } finally {
      if (this.#tools === tools) this.#sending = null;
    }
  }

  #byDigest(fields, signal) {
    const body = { ...fields, explain: true, catalog: this.#digest };
    return post(JSON.stringify(body), { ...this.#headers(), "X-Catalog-Digest": this.#digest }, signal);
  }

  #headers() {
    const headers = { "Content-Type": "application/json" };
    return this.key ? { ...headers, Authorization: `Bearer ${this.key}` } : headers;
  }
}

/** Returns the answer, and the milliseconds that it took from here and back. */
async function post(body, headers, signal) {
  const began = performance.now();
  const response = await reach({ method: "POST", headers, body, signal });
  const text = await response.text();
  const tripMs = performance.now() - began;
  let answer = {};
  try {
    answer = JSON.parse(text);
  } catch {
    // A balancer's page, for one: the status has to do.
  }
  if (!response.ok) throw new Problem(response.status, answer, response.headers.get("X-Request-Id"));
  return { answer, tripMs };
}

async function reach(request) {
  try {
    return await fetch(SEARCH, request);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Unreachable(`${new URL(SEARCH).origin} does not answer`);
  }
}
