"""docs/api.md: every call in short, the shapes of a search and of bodies, bounds and errors."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from docs.generate.notes import WRITTEN, joined, notes
from docs.generate.schemas import fields_of, kind_of
from toolscout.contract.bounds import BOUNDS
from toolscout.server.http.problems import CODES
from toolscout.server.openapi.document import make_document

METHODS = ("get", "put", "post", "patch", "delete")
ANSWERS = ("SearchAnswer", "GatewayAnswer", "Match", "Reason")
"""Shapes of a search's answer, which come after those of its request."""

BASES = ("SearchRequest", "SearchAnswer")
"""Shapes whose fields others share; there only the names are repeated."""

REPEATED = re.compile(r"Answers 404 with `learning_days = 0`\.|`If-Match`[^.]* honoured \(412\)\.")
"""What the page tells once, of all calls."""

TAGS = ("If-Match", "If-None-Match")
"""Headers whose meaning the page tells once."""

PLAIN = {"200", "304"}
"""Statuses that are not worth a word, unless the answer's shape is on the page."""

OF_MESSAGES = ("MessagePart", "MessageCall", "CalledFunction")
"""Parts of providers' messages, which their callers know."""

_LENGTH = re.compile(r"text of [\d,]+ characters")
"""The longest texts stand among the bounds."""

_LINK = re.compile(r"\[([A-Z]\w+)\]\(#\w+\)")


def page() -> str:
    """Return the whole page."""
    texts = notes("introductions")
    calls = "\n".join(_call(*one) for one in operations())
    parts = [WRITTEN, "# API", texts["api"], "## Calls", texts["calls"], calls]
    shown = list(dict.fromkeys(_shapes()))
    parts += ["## Shapes", texts["shapes"]]
    for name in shown:
        schema = make_document()["components"]["schemas"][name]
        about = "" if name in _bodies() else _first(schema.get("description", ""))
        parts += [f"### {name}", about, _fields(name, schema)]
    errors = [f"- `{code}` ({kind.status}): {kind.help}" for code, kind in CODES.items()]
    parts += ["## Errors", texts["errors"], "\n".join(errors)]
    return _LINK.sub(lambda link: link[0] if link[1] in shown else f"`{link[1]}`", joined(parts))


def bounds() -> str:
    """Return the page of the bounds."""
    lines = [f"- {bound.what}: {bound.limit:,} ({bound.where})" for bound in BOUNDS]
    return joined(
        [WRITTEN, "# Bounds of a request", notes("introductions")["bounds"], "\n".join(lines)]
    )


def _first(text: str) -> str:
    """Return the first paragraph."""
    return text.partition("\n\n")[0].strip()


def _shapes() -> Iterator[str]:
    """Yield the shapes on the page: those of a search, those of bodies, and of their fields."""
    yield from _made_of("SearchRequest", set())
    yield from ANSWERS
    for name in _bodies():
        yield from _made_of(name, set())


def _bodies() -> list[str]:
    """Return the shapes of bodies, whose calls say what they are for."""
    return [
        name
        for _, _, operation in operations()
        for content in operation.get("requestBody", {}).get("content", {}).values()
        for name in _names(content["schema"])
    ]


def _made_of(name: str, seen: set[str]) -> Iterator[str]:
    if name not in seen and name not in OF_MESSAGES:
        seen.add(name)
        yield name
        for inner in _names(make_document()["components"]["schemas"][name]):
            yield from _made_of(inner, seen)


def _names(schema: Any) -> list[str]:
    written = msgspec.json.encode(schema).decode()
    return list(dict.fromkeys(re.findall(r'"#/components/schemas/(\w+)"', written)))


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    """Path, method and description of every call; parameters of the path stand with each."""
    found = []
    for path, item in make_document()["paths"].items():
        shared = item.get("parameters", [])
        for method in METHODS:
            if method in item:
                own = item[method].get("parameters", [])
                found.append((path, method, item[method] | {"parameters": shared + own}))
    return found


def _call(path: str, method: str, operation: dict[str, Any]) -> str:
    """Return a line: the scope that the call needs, what it does, takes and answers."""
    more, _, scope = operation.get("description", "").partition("Scope of the key: ")
    takes = [_parameter(one) for one in operation["parameters"] if one["in"] != "path"]
    contents = operation.get("requestBody", {}).get("content", {}).values()
    takes += [kind_of(content["schema"]) for content in contents]
    answers = [
        f"{status}{_answer(given)}"
        for status, given in operation["responses"].items()
        if "$ref" not in given
    ]
    of_search = set(ANSWERS) & set(_names(operation["responses"]))
    if not of_search and {answer[:3] for answer in answers} <= PLAIN:
        answers = []
    does = f"{operation['summary']}. {_first(REPEATED.sub('', more))}".strip()
    parts = [does, f"Takes {'; '.join(takes)}." if takes else ""]
    parts += [f"Answers {', '.join(answers)}."] if answers else []
    needs = f" ({scope.strip(' .')})" if scope else ""
    return f"- `{method.upper()} {path}`{needs}: {' '.join(filter(None, parts))}"


def _parameter(described: dict[str, Any]) -> str:
    name = f"`{described['name']}`"
    if described["name"] in TAGS:
        return name
    return f"{name}: {described.get('description', '')}"


def _answer(response: dict[str, Any]) -> str:
    kinds = [kind_of(content["schema"]) for content in response.get("content", {}).values()]
    return f" {' or '.join(kinds)}" if kinds and response["description"] == "The answer" else ""


def _fields(name: str, schema: dict[str, Any]) -> str:
    """Return the fields one a line; those that another shape has the same are only named."""
    fields, (base, shared) = schema.get("properties", {}), _shared(name, schema)
    lines = [
        f"- `{field}`{_bracket(kind, needed)}: {fields[field]['description']}"
        for field, kind, needed in fields_of(schema)
        if field not in shared
    ]
    parts = ["\n".join(lines)] if lines else []
    if shared:
        names = ", ".join(f"`{field}`" for field in shared)
        parts.append(f"As in [{base}](#{base.lower()}): {names}.")
    return "\n\n".join(parts)


def _bracket(kind: str, needed: bool) -> str:
    """Return what a field may be in brackets; a text that may be absent needs none."""
    kind = _LENGTH.sub("text", kind)
    parts = [*([kind] if kind != "text" else []), *(["required"] if needed else [])]
    return f" ({', '.join(parts)})" if parts else ""


def _shared(name: str, schema: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the shape that has most of the same fields, and these fields."""
    own, found = schema.get("properties", {}), ("", list[str]())
    for base in BASES:
        theirs = make_document()["components"]["schemas"][base]["properties"]
        same = [field for field, described in own.items() if theirs.get(field) == described]
        if base != name and len(same) > len(found[1]):
            found = (base, same)
    return found
