// Where a text stops being JSON. Browsers word this differently, and some leave the place out.

const BLANK = /[ \t\r\n]*/y;
const STRING = /"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"/y;
const WHOLE_CHARS = /"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/** Parse a text. Throws a JsonError that says where it is wrong. */
export function parse(text) {
  const content = text.replace(/^\uFEFF/, "");
  try {
    return JSON.parse(content);
  } catch {
    throw new JsonError(content, firstFault(content));
  }
}

export class JsonError extends Error {
  constructor(text, { at, expected, reason }) {
    const before = text.slice(0, at).split("\n");
    const found = at < text.length ? `"${[...text.slice(at, at + 2)][0]}"` : "the end";
    super(reason ?? `expected ${expected}, found ${found}`);
    this.line = before.length;
    this.column = [...before.at(-1)].length + 1;
  }
}

/** What is wrong with the string that begins here, and where. */
function faultOfString(text, at) {
  WHOLE_CHARS.lastIndex = at;
  const end = at + WHOLE_CHARS.exec(text)[0].length;
  if (text[end] === "\\" && end + 1 < text.length) {
    return { at: end, reason: `"${text.slice(end, end + 2)}" cannot stand in a string` };
  }
  if (end < text.length && text[end] !== "\n" && text[end] !== "\r") {
    return { at: end, reason: "a tab or control character cannot stand in a string" };
  }
  return { at, reason: "the string that begins here has no closing quote" };
}

/** The offset of the first character that cannot stand where it does, and what could. */
function firstFault(text) {
  let at = 0;
  const open = [];
  const take = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at += found[0].length;
    return Boolean(found);
  };
  const takeChar = (char) => {
    const found = text[at] === char;
    if (found) at += 1;
    return found;
  };

  for (let state = "value"; ; ) {
    take(BLANK);
    const fault = (expected) => ({ at, expected });
    if (state === "value" || state === "first item") {
      if (state === "first item" && takeChar("]")) {
        open.pop();
        state = "after";
      } else if (takeChar("{")) {
        open.push("}");
        state = "first key";
      } else if (takeChar("[")) {
        open.push("]");
        state = "first item";
      } else if (take(STRING) || take(SCALAR)) {
        state = "after";
      } else {
        return text[at] === '"' ? faultOfString(text, at) : fault("a value");
      }
    } else if (state === "key" || state === "first key") {
      if (state === "first key" && takeChar("}")) {
        open.pop();
        state = "after";
      } else {
        if (!take(STRING)) return text[at] === '"' ? faultOfString(text, at) : fault("a key in double quotes");
        take(BLANK);
        if (!takeChar(":")) return fault('":"');
        state = "value";
      }
    } else if (open.length === 0) {
      return fault("the end");
    } else if (takeChar(",")) {
      state = open.at(-1) === "}" ? "key" : "value";
    } else if (takeChar(open.at(-1))) {
      open.pop();
    } else {
      return fault(`"," or "${open.at(-1)}"`);
    }
  }
}
