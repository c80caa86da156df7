// The same call for a shell. The body comes from a quoted here-document, in which nothing is
// special, and which may be larger than one argument.

const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/** `body` is JSON on one line. A key is not copied: the shell is to have it in API_KEY. */
export function curl(url, body, needsKey) {
  const key = needsKey ? ` -H "Authorization: Bearer $API_KEY"` : "";
  return [
    `curl -s ${quoted(url)} -H 'Content-Type: application/json'${key} --data-binary @- <<'JSON'`,
    body,
    "JSON",
    "",
  ].join("\n");
}

/** Copy a text; false where the browser does not let a page do so. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
