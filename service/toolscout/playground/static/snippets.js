// The search of the page as programs and commands that run as they are pasted. A key is not among
// them: they read it from the variable API_KEY.

const PROVIDER = "https://api.openai.com/v1"; // to be pasted elsewhere; the page asks nobody but its service
const BASE_URL = "http://127.0.0.1:8100"; // where `toolscout proxy` listens

const shell = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * Each takes a call: `url` of the search, `question`, `tools` (an array as JSON), `digest` of them, and
 * `needsKey`.
 */
export const SNIPPETS = { python, sdk, proxy, curl, digest };

function python({ url, question, tools, needsKey }) {
  const { pattern = lastWish(question.messages), top_k, always_keep: kept, ...fields } = question;
  if (fields.ranker === "auto") delete fields.ranker;
  const options = [
    literal(pattern),
    "tools",
    ...named({ top_k, always_keep: kept, fields: Object.keys(fields).length > 0 ? fields : undefined }),
  ];
  return lines(
    "import json",
    needsKey && "import os",
    "",
    "from toolscout.client import Selector",
    "",
    // JSON never has three quotes in a row, and ends in no backslash.
    `tools = json.loads(r"""${tools}""")`,
    `with Selector(${[literal(service(url)), ...keyed(needsKey)].join(", ")}) as selector:`,
    `    selection = selector.select(${options.join(", ")})`,
    "print(selection.names)  # selection.tools has the definitions",
  );
}

/** A conversation is searched itself; without a service, tools are ranked by what was asked last. */
function lastWish(messages) {
  const text = messages?.findLast(({ role }) => role === "user")?.content;
  return typeof text === "string" && text.trim() ? text : "the conversation";
}

function sdk({ url, question, needsKey }) {
  const { top_k, always_keep } = question;
  const options = [literal(service(url)), ...keyed(needsKey), ...named({ top_k, always_keep })];
  return lines(
    needsKey && "import os\n",
    "import httpx2",
    "from openai import OpenAI",
    "",
    "from toolscout.discovery import Transport",
    "",
    ...byDefault(question),
    `transport = Transport(${options.join(", ")})`,
    "client = OpenAI(http_client=httpx2.Client(transport=transport))",
  );
}

function proxy({ url, question, needsKey }) {
  const { top_k, always_keep: kept = [] } = question;
  const key = needsKey ? `TOOLSCOUT_API_KEY="$API_KEY" ` : "";
  return lines(
    ...byDefault(question),
    `${key}toolscout proxy --upstream ${PROVIDER} --selector ${shell(service(url))} \\`,
    `  --max-search-results ${top_k}${kept.map((name) => ` --always-keep=${shell(name)}`).join("")}`,
    "# In the terminal of your agent:",
    `export OPENAI_BASE_URL=${BASE_URL}`,
  );
}

function curl({ url, question, tools, needsKey }) {
  return posted(url, `${JSON.stringify(question).slice(0, -1)},"tools":${tools}}`, needsKey);
}

function digest({ url, question, digest: catalog, needsKey }) {
  return posted(url, JSON.stringify({ ...question, catalog }), needsKey);
}

/** The body comes from a quoted here-document: nothing is special in it, and it may be large. */
function posted(url, body, needsKey) {
  const key = needsKey ? ` -H "Authorization: Bearer $API_KEY"` : "";
  const command = `curl -s ${shell(url)} -H 'Content-Type: application/json'${key} --data-binary @- <<'JSON'`;
  return lines(command, body, "JSON");
}

/** The flow before a model has neither of these settings. */
const byDefault = ({ ranker, prerequisites }) =>
  ranker === "auto" && prerequisites === undefined ? [] : ["# Its searches take the ranker auto, and add prerequisites."];

const lines = (...parts) => `${parts.filter((part) => part !== false).join("\n")}\n`;

const keyed = (needsKey) => (needsKey ? ['api_key=os.environ["API_KEY"]'] : []);

const named = (options) =>
  Object.entries(options)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${literal(value)}`);

/** The address that clients take; behind a prefix it is that of the search. */
const service = (url) => url.replace(/^(https?:\/\/[^/]+)\/v1\/tool-discovery\/search$/, "$1");

/** JSON as Python writes it; strings are the same in both. */
function literal(value) {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, of]) => `${JSON.stringify(key)}: ${literal(of)}`)
    .join(", ")}}`;
}
