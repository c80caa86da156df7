"""docs/api.md: every call in short, the shapes of a search and of bodies, bounds and errors."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from docs.generate.notes import WRITTEN, joined, notes, table
from docs.generate.schemas import fields_of, kind_of
from toolscout.contract.bounds import BOUNDS
from toolscout.server.http.problems import CODES
from toolscout.server.openapi.document import document

METHODS = ("get", "put", "post", "patch", "delete")
ANSWERS = ("GatewayAnswer", "SearchAnswer", "Match", "Reason")
"""Shapes of a search's answer, which come after those of its request."""

ANYWHERE = {
    *("bad_request", "unauthorized", "forbidden", "method_not_allowed", "body_timeout"),
    *("misdirected", "rate_limited", "headers_too_large", "internal_error", "overloaded"),
    *("store_unavailable", "draining"),
}
"""Errors that every call can give."""

_LINK = re.compile(r"\[([A-Z]\w+)\]\(#\w+\)")


def page() -> str:
    """Return the whole page."""
    texts = notes("introductions")
    parts = [WRITTEN, "# API", texts["api"], "## Calls", _anywhere()]
    for path, method, operation in operations():
        parts += _call(path, method, operation)
    shown = list(dict.fromkeys(_shapes()))
    parts += ["## Shapes", texts["shapes"]]
    for name in shown:
        schema = document()["components"]["schemas"][name]
        parts += [f"### {name}", schema.get("description", ""), _fields(name, schema)]
    rows = [(bound.what, f"{bound.limit:,}", bound.where) for bound in BOUNDS]
    parts += ["## Bounds", texts["bounds"], table(("what", "at most", "where"), rows)]
    errors = [
        (f"`{code}`", str(kind.status), kind.title, kind.help) for code, kind in CODES.items()
    ]
    parts += ["## Errors", texts["errors"], table(("code", "status", "", ""), errors)]
    return _LINK.sub(lambda link: link[0] if link[1] in shown else f"`{link[1]}`", joined(parts))


def _shapes() -> Iterator[str]:
    """Yield the shapes on the page: those of a search, those of bodies, and of their fields."""
    taken = [
        name
        for _, _, operation in operations()
        for content in operation.get("requestBody", {}).get("content", {}).values()
        for name in _names(content["schema"])
    ]
    yield from _made_of("SearchRequest", set())
    yield from ANSWERS
    for name in taken:
        yield from _made_of(name, set())


def _made_of(name: str, seen: set[str]) -> Iterator[str]:
    if name not in seen:
        seen.add(name)
        yield name
        for inner in _names(document()["components"]["schemas"][name]):
            yield from _made_of(inner, seen)


def _names(schema: Any) -> list[str]:
    written = msgspec.json.encode(schema).decode()
    return list(dict.fromkeys(re.findall(r'"#/components/schemas/(\w+)"', written)))


def _anywhere() -> str:
    listed = ", ".join(f"`{code}`" for code in CODES if code in ANYWHERE)
    return f"Any call can give these [errors](#errors): {listed}. Others are listed with each."


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
    lines = [f"{summary}. {more}".strip()]
    parameters = [
        f"`{one['name']}` ({kind_of(one['schema'])}): {one.get('description', '')}"
        for one in operation["parameters"]
        if one["in"] != "path"
    ]
    if parameters:
        lines.append(f"Parameters: {'; '.join(parameters)}.")
    contents = operation.get("requestBody", {}).get("content", {}).values()
    lines += [f"Takes {kind_of(content['schema'])}." for content in contents]
    statuses = operation["responses"].items()
    lines += [f"{status}: {_answer(given)}." for status, given in statuses if "$ref" not in given]
    errors = [f"`{code}`" for status, _ in statuses for code in _codes(status, path, operation)]
    if errors:
        lines.append(f"Errors: {', '.join(errors)}.")
    return [f"### {method.upper()} {path}", " ".join(lines)]


def _answer(response: dict[str, Any]) -> str:
    kinds = [kind_of(content["schema"]) for content in response.get("content", {}).values()]
    said: str = response["description"]
    if kinds:
        said = " or ".join(kinds) if said == "The answer" else said.rstrip(".")
    return said


def _codes(status: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    """Yield the errors of a status that this call can give."""
    names = _names(operation.get("requestBody", {}))
    fields = {
        field
        for name in names
        for field in document()["components"]["schemas"][name].get("properties", {})
    }
    can_give = {
        **dict.fromkeys(
            ("invalid_json", "unsupported_media_type", "payload_too_large"), bool(names)
        ),
        "too_many_tools": not fields.isdisjoint({"tools", "upsert"}),
        "empty_pattern": not fields.isdisjoint({"pattern", "patterns"}),
        "catalog_unknown": "catalog" in fields or "{id}" in path,
        "not_found": "{tool}" in path or operation["tags"] == ["learning"],
        "bad_cursor": any(one["name"] == "cursor" for one in operation["parameters"]),
    }
    for code, kind in CODES.items():
        if str(kind.status) == status and code not in ANYWHERE and can_give.get(code, True):
            yield code


def _fields(name: str, schema: dict[str, Any]) -> str:
    rows, searched = [], document()["components"]["schemas"]["SearchRequest"]["properties"]
    is_search = name != "SearchRequest" and {"ranker", "explain"} <= set(
        schema.get("properties", ())
    )
    for field, kind, needed in fields_of(schema):
        meaning = schema["properties"][field]["description"]
        if not (is_search and field in searched):
            rows.append((f"`{field}`", kind, "required" if needed else "", meaning))
    if not rows:
        return kind_of(schema)
    more = "\n\nAnd the other fields of [SearchRequest](#searchrequest)." if is_search else ""
    return table(("field", "type", "", ""), rows) + more
