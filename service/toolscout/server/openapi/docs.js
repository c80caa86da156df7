// The API as a page, made from /openapi.json: every call with its fields, answers and a command to
// try it, then every shape. Nothing comes from another host.
let theme = null;
try {
  theme = localStorage.getItem("theme");
} catch {
  // Storage may be forbidden; then the system decides.
}
if (theme) document.documentElement.dataset.theme = theme;

/** Where the service is: below a path, perhaps, at which a proxy shows it. */
const HOME = new URL("..", document.currentScript.src);

const METHODS = ["get", "post", "put", "patch", "delete"];

/** Make an element; texts and elements are its content, what is null is left out. */
function make(name, attributes = {}, ...content) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...content.flat(Infinity).filter((part) => part !== null));
  return element;
}

/** Return a text with `code` as elements. */
function prose(text) {
  return (text ?? "").split("`").map((part, n) => (n % 2 ? make("code", {}, part) : part));
}

function last(reference) {
  return reference.split("/").at(-1);
}

const BOUNDS = { minimum: "at least", maximum: "at most", minItems: "items at least", maxItems: "items at most",
  minLength: "characters at least", maxLength: "characters at most" };

/** Say of what type a value is, and within which bounds; shapes are links. */
function type(schema) {
  const bounds = Object.keys(BOUNDS).filter((key) => key in schema).map((key) => ` (${BOUNDS[key]} ${schema[key]})`);
  return [...kind(schema), ...bounds];
}

function kind(schema) {
  if (schema.$ref) return [make("a", { href: `#${last(schema.$ref)}` }, last(schema.$ref))];
  const several = schema.anyOf ?? schema.oneOf;
  if (several) return several.flatMap((one, n) => [n ? " or " : null, ...type(one)]);
  if (schema.enum) return schema.enum.flatMap((one, n) => [n ? ", " : null, make("code", {}, JSON.stringify(one))]);
  if ("const" in schema) return [make("code", {}, JSON.stringify(schema.const))];
  if (schema.items) return schema.items.anyOf ? ["list of (", ...type(schema.items), ")"] : ["list of ", ...type(schema.items)];
  const values = schema.additionalProperties;
  if (values && typeof values === "object" && !schema.properties) return ["object of ", ...type(values)];
  return [[schema.type ?? "anything"].flat().join(" or ")];
}

function table(heads, rows) {
  const head = make("tr", {}, heads.map((text) => make("th", { scope: "col" }, text)));
  const body = rows.map((cells) => make("tr", {}, cells.map((cell) => make("td", {}, cell))));
  return rows.length ? make("div", { class: "wide", tabindex: 0 }, make("table", {}, head, body)) : null;
}

function fields(schema) {
  const required = schema.required ?? [];
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) => [
    [make("code", {}, name), required.includes(name) ? " required" : null],
    type(field),
    prose(field.description),
  ]);
  return table(["field", "type", "meaning"], rows);
}

/** Say which fields there have to be, where a shape leaves a choice. */
function choices(schema) {
  const lists = (schema.allOf ?? []).map((one) => (one.oneOf ?? one.anyOf ?? []).flatMap((each) => each.required ?? []));
  return lists.filter((names) => names.length).map((names) => make("p", {}, prose(`One of \`${names.join("`, `")}\` is required.`)));
}

function command(method, path, call) {
  const content = call.requestBody?.content?.["application/json"];
  const needed = (call.parameters ?? []).filter((one) => one.in === "query" && one.required);
  const query = needed.map((one, n) => `${n ? "&" : "?"}${one.name}=TEXT`).join("");
  const parts = [`curl '${HOME.href.replace(/\/$/, "")}${path.replace(/\{\w+\}/g, "NAME")}${query}'`];
  if (method !== "get") parts[0] += ` -X ${method.toUpperCase()}`;
  if (call.security?.length) parts.push('-H "Authorization: Bearer $TOOLSCOUT_API_KEY"');
  if (content?.example) parts.push("-H 'Content-Type: application/json'", `-d '${JSON.stringify(content.example)}'`);
  return make("pre", { tabindex: 0 }, parts.join(" \\\n  "));
}

function answers(call) {
  const all = Object.entries(call.responses);
  const rows = all.filter(([, answer]) => !answer.$ref).map(([status, answer]) => {
    const schema = Object.values(answer.content ?? {})[0]?.schema;
    return [make("code", {}, status), prose(answer.description), schema ? type(schema) : ""];
  });
  const errors = all.filter(([, answer]) => answer.$ref).map(([status]) => `${status} `);
  const problem = make("a", { href: "#Problem" }, "Problem");
  if (errors.length) rows.push([make("code", {}, errors), make("a", { href: new URL("docs/errors", HOME) }, "errors"), problem]);
  return table(["status", "answer", "shape"], rows);
}

function operation(method, path, call) {
  const parameters = (call.parameters ?? []).map((one) => [make("code", {}, one.name), one.in, prose(one.description)]);
  const body = Object.entries(call.requestBody?.content ?? {}).map(([media, one]) =>
    make("p", {}, "Body, ", make("code", {}, media), ": ", type(one.schema)));
  const title = [make("code", {}, `${method.toUpperCase()} ${path}`), ` ${call.summary ?? ""}`];
  const more = [table(["parameter", "in", "meaning"], parameters), body, answers(call), command(method, path, call)];
  const details = make("details", {}, make("summary", {}, title), make("p", {}, prose(call.description)), more);
  return make("section", { id: call.operationId }, details);
}

async function main() {
  const api = await (await fetch(new URL("openapi.json", HOME))).json();
  const calls = Object.entries(api.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => [method, path, item[method]]));
  const groups = api.tags.map((tag) => [
    make("h2", { id: `tag-${tag.name}` }, tag.name),
    make("p", {}, prose(tag.description)),
    calls.filter(([, , call]) => call.tags?.includes(tag.name)).map((one) => operation(...one)),
  ]);
  const shapes = Object.entries(api.components.schemas).map(([name, schema]) =>
    make("section", { id: name }, make("h3", {}, name), make("p", {}, prose(schema.description)), choices(schema), fields(schema) ?? make("p", {}, type(schema))));
  document.querySelector("main").append(...groups.flat(2), make("h2", { id: "shapes" }, "Shapes"), ...shapes);
  document.querySelector("#version").textContent = api.info.version;
  open();
  addEventListener("hashchange", open);
}

/** Open the call that the address names, and go there. */
function open() {
  const named = document.getElementById(location.hash.slice(1));
  named?.querySelector("details")?.setAttribute("open", "");
  named?.scrollIntoView();
}

main();
