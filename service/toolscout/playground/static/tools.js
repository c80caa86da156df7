// Tools as people have them, in the shape that the service takes. The command line reads files by
// the same rules.

import { parse } from "./json.js";

const FIELDS = [
  "name",
  "description",
  "definition",
  "parameters",
  "namespace",
  "domain",
  "tags",
  "keywords",
  "examples",
  "source",
  "capabilities",
  "risk",
  "annotations",
  "status",
  "required_keys",
];
const FOREIGN = [
  "title",
  "function",
  "toolSpec",
  "tool",
  "input_schema",
  "inputSchema",
  "argument_schema",
]; // Keys that only providers' shapes have; such a tool is its own definition.
const DECLARATIONS = ["functionDeclarations", "function_declarations"];
const DESCRIBING = [...FIELDS, ...FOREIGN.filter((key) => key !== "title"), ...DECLARATIONS, "properties"];
const LISTS = ["tools", "toolConfig", "result", ...DECLARATIONS];
const DEEPEST = 3; // result.tools of a JSON-RPC answer

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** The text is JSON but holds no tools that anybody knows how to read. */
export class ShapeError extends Error {}

/**
 * Read a text: an array of tools, an MCP `tools/list` answer, or a request that carries tools.
 * Throws a JsonError or a ShapeError.
 */
export function readTools(text) {
  const list = findList(parse(text));
  const tools = list.flatMap((value, number) =>
    declared(value)
      .filter((entry) => !isNamelessBuiltin(entry))
      .map((entry) => readTool(entry, `tools[${number}]`)),
  );
  if (tools.length === 0) throw new ShapeError("the list of tools is empty");
  return tools;
}

/** A tool of `readTools` as its caller has it. */
export function asPasted(tool) {
  const whole = tool.definition;
  const names = isObject(whole) ? [whole, whole.function, whole.toolSpec, whole.tool].map((part) => part?.name) : [];
  return names.includes(tool.name) ? whole : tool;
}

function findList(content) {
  let found = content;
  for (let depth = 0; depth < DEEPEST && isObject(found); depth += 1) {
    const key = LISTS.find((name) => Object.hasOwn(found, name));
    if (key === undefined) break;
    found = found[key];
  }
  if (Array.isArray(found)) return found;
  const seen = isObject(found)
    ? `an object with ${Object.keys(found).slice(0, 4).join(", ") || "nothing in it"}`
    : found === null
      ? "null"
      : `a ${typeof found}`;
  throw new ShapeError(
    `expected a list of tools, or an object with "tools" (OpenAI, Anthropic, MCP tools/list, ` +
      `Gemini, Bedrock or a search request); found ${seen}`,
  );
}

/** Gemini nests several functions in one tool; everyone else sends one per entry. */
function declared(value) {
  if (isObject(value) && !Object.hasOwn(value, "name")) {
    for (const key of DECLARATIONS) {
      if (Array.isArray(value[key])) return value[key];
    }
  }
  return [value];
}

/** A provider's built-in, such as {"type": "web_search"}, which nobody can search for. */
function isNamelessBuiltin(entry) {
  if (!isObject(entry) || Object.keys(entry).length === 0) return false;
  if (DESCRIBING.some((key) => Object.hasOwn(entry, key))) return false;
  if (typeof entry.type === "string") return entry.type !== "function";
  return Object.values(entry).every(isObject);
}

function readTool(entry, path) {
  if (!isObject(entry)) throw new ShapeError(`${path}: expected an object`);
  const inner = [entry.function, entry.toolSpec, entry.tool].find(isObject) ?? entry;
  const name = entry.name || inner.name;
  if (typeof name !== "string" || !name) {
    throw new ShapeError(`${path}: expected a "name", which every tool needs`);
  }
  const tool = {};
  for (const field of FIELDS) {
    if (Object.hasOwn(entry, field)) tool[field] = entry[field];
  }
  if (!isObject(tool.definition) && FOREIGN.some((key) => Object.hasOwn(entry, key))) {
    tool.definition = entry;
    delete tool.parameters;
  }
  tool.name = name;
  if (typeof tool.description !== "string") tool.description = inner.description ?? null;
  return tool;
}
