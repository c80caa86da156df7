"""docs/api.md: a heading per path and method, per shape and per error code."""

from typing import Any

import msgspec

from docs.generate.notes import WRITTEN, joined, notes, table
from docs.generate.schemas import fields_of, kind_of
from toolscout.contract.bounds import BOUNDS
from toolscout.server.http.problems import CODES
from toolscout.server.openapi.document import document

METHODS = ("get", "put", "post", "patch", "delete")


def page() -> str:
    """Return the whole page."""
    texts = notes("introductions")
    parts = [WRITTEN, "# API", texts["api"], "## Calls"]
    for path, method, operation in operations():
        parts += _call(path, method, operation)
    parts += ["## Shapes", texts["shapes"]]
    for name, schema in document()["components"]["schemas"].items():
        parts += [f"### {name}", schema.get("description", ""), _fields(schema)]
    rows = [(bound.what, f"{bound.limit:,}", bound.where) for bound in BOUNDS]
    parts += ["## Bounds", texts["bounds"], table(("what", "at most", "where"), rows)]
    parts += ["## Errors", texts["errors"]]
    for code, kind in CODES.items():
        retry = f", with `Retry-After: {kind.retry_after_s}`" if kind.retry_after_s else ""
        parts += [f"### `{code}`", f"{kind.status}{retry}. {kind.title}.", kind.help]
    return joined(parts)


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    """Path, method and description of every call; parameters of the path stand with each."""
    found = []
    for path, item in document()["paths"].items():
        shared = item.get("parameters", [])
        for method in METHODS:
            if method in item:
                own = item[method].get("parameters", [])
                found.append((path, method, item[method] | {"parameters": shared + own}))
    return found


def _call(path: str, method: str, operation: dict[str, Any]) -> list[str]:
    summary, more = operation["summary"], operation.get("description", "")
    parts = [f"### {method.upper()} {path}", f"{summary}. {more}".strip()]
    parameters = [
        (f"`{p['name']}`", p["in"], kind_of(p["schema"]), p.get("description", ""))
        for p in operation["parameters"]
    ]
    if parameters:
        parts.append(table(("parameter", "in", "type", ""), parameters))
    for content in operation.get("requestBody", {}).get("content", {}).values():
        parts.append(f"Takes {kind_of(content['schema'])}, for example:")
        example = msgspec.json.format(msgspec.json.encode(content["example"]), indent=2).decode()
        parts.append(f"```json\n{example}\n```")
    answers, errors = [], []
    for status, response in operation["responses"].items():
        if "$ref" in response:
            errors += [f"[`{code}`](#{code})" for code in _codes(status)]
        else:
            answers.append(f"- {status}: {_answer(response)}")
    parts.append("Answers\n\n" + "\n".join(answers))
    if errors:
        parts.append(f"Errors: {', '.join(errors)}.")
    return parts


def _answer(response: dict[str, Any]) -> str:
    kinds = [kind_of(content["schema"]) for content in response.get("content", {}).values()]
    said: str = response["description"]
    if kinds:
        said = " or ".join(kinds) if said == "The answer" else f"{said}: {' or '.join(kinds)}"
    headers = ", ".join(f"`{name}`" for name in response.get("headers", {}))
    return said + (f"; headers {headers}" if headers else "")


def _codes(status: str) -> list[str]:
    return [code for code, kind in CODES.items() if str(kind.status) == status]


def _fields(schema: dict[str, Any]) -> str:
    rows = []
    for field, kind, needed in fields_of(schema):
        meaning = schema["properties"][field]["description"]
        rows.append((f"`{field}`", kind, "required" if needed else "", meaning))
    if not rows:
        return kind_of(schema)
    return table(("field", "type", "", ""), rows)
