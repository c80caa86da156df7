"""The operations of an OpenAPI 3 document as tools: what an agent that calls an API would be given.

    tools_of(document)   → [{"name": "listPets", "description": "…", "input_schema": {…}}, …]

A tool has the parameters of its operation and the fields of its JSON body as properties. References
within the document are written out as far as a schema is finite and short; others are left open,
and the log names the tools whose schemas are shortened by that.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any

from toolscout.commands.terminal import list_first_names, write_count
from toolscout.tools.schemas import follow

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
BODY = "body"
"""The property of a body that is no object, or whose fields have names of parameters."""

LEFT_OUT = frozenset(("accept", "content-type", "authorization"))
"""Headers that OpenAPI leaves to the caller."""

MAX_DEPTH = 12
MAX_NODES = 2_000
"""Nodes of one tool's schema that are written out; what is beyond them is left open."""

MAX_NAMED = 3
"""Tools with shortened schemas that the log names."""

_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")

_log = logging.getLogger("toolscout")


def is_openapi(content: Any) -> bool:
    """Whether a decoded file is an OpenAPI document of version 3."""
    if not isinstance(content, Mapping) or not isinstance(content.get("paths"), Mapping):
        return False
    return str(content.get("openapi", "")).startswith("3.")


def read_operations(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a tool for each operation, in the order of the document."""
    tools: list[dict[str, Any]] = []
    shortened: list[str] = []
    taken: dict[str, int] = {}
    for path, item in document["paths"].items():
        for method, operation, shared in _list_operations(document, item):
            wanted = _make_name(method, str(path), operation)
            taken[wanted] = number = taken.get(wanted, 0) + 1
            name = wanted if number == 1 else f"{wanted}_{number}"
            schemas = _Schemas(document)
            tool = {
                "name": name,
                "description": _write_description(method, str(path), operation),
                "input_schema": schemas.of(operation, shared),
            }
            tools.append(tool)
            if schemas.is_shortened:
                shortened.append(name)
    _note_shortened(shortened)
    if lost := sorted(_find_lost(document)):
        _log.warning("references that lead nowhere: %s", list_first_names(lost, MAX_NAMED))
    return tools


def _find_lost(document: Mapping[str, Any]) -> set[str]:
    """Find references within a document to what it has not."""
    lost: set[str] = set()
    seen: set[int] = set()  # a document in YAML may contain itself
    left: list[Any] = [document]
    while left:
        value = left.pop()
        if not isinstance(value, Mapping | list) or id(value) in seen:
            continue
        seen.add(id(value))
        left += value.values() if isinstance(value, Mapping) else value
        reference = value.get("$ref") if isinstance(value, Mapping) else None
        if isinstance(reference, str) and reference.startswith("#"):
            lost |= {reference} if follow(document, reference) is None else set()
    return lost


def _note_shortened(names: list[str]) -> None:
    if names:
        limits = f"{MAX_DEPTH} levels and {MAX_NODES:,} values"
        count = write_count(len(names), "tool")
        some = list_first_names(names, MAX_NAMED)
        _log.warning("the schemas of %s are shortened to %s: %s", count, limits, some)


def _list_operations(
    document: Mapping[str, Any], item: Any
) -> Iterator[tuple[str, Mapping[str, Any], list[Any]]]:
    """Yield method and operation of a path, and the parameters that all of its operations have."""
    item = _resolve(document, item)
    shared = item.get("parameters")
    for method in METHODS:
        if isinstance(operation := item.get(method), Mapping):
            yield method, operation, shared if isinstance(shared, list) else []


def _make_name(method: str, path: str, operation: Mapping[str, Any]) -> str:
    written = operation.get("operationId")
    return _NO_NAME.sub("_", written if isinstance(written, str) else f"{method} {path}").strip("_")


def _write_description(method: str, path: str, operation: Mapping[str, Any]) -> str:
    parts = [operation.get(key) for key in ("summary", "description")]
    texts = dict.fromkeys(text.strip() for text in parts if isinstance(text, str) and text.strip())
    return "\n".join(texts) or f"{method.upper()} {path}"


def _resolve(document: Mapping[str, Any], value: Any) -> Mapping[str, Any]:
    """Follow references within the document; what is no object is an empty one."""
    for _ in range(MAX_DEPTH):
        reference = value.get("$ref") if isinstance(value, Mapping) else None
        if not isinstance(reference, str):
            break
        value = follow(document, reference)
    return value if isinstance(value, Mapping) and "$ref" not in value else {}


class _Schemas:
    """Writes the schema of one tool, with the references of its document resolved."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.is_shortened = False
        """Whether something was too deep or too long to be written out."""
        self._document = document
        self._left = MAX_NODES

    def of(self, operation: Mapping[str, Any], shared: list[Any]) -> dict[str, Any]:
        """Return the schema of an operation's parameters and body."""
        own = operation.get("parameters")
        properties: dict[str, Any] = {}
        required: dict[str, None] = {}
        for entry in (*shared, *(own if isinstance(own, list) else [])):
            parameter = _resolve(self._document, entry)
            name = parameter.get("name")
            place = parameter.get("in")
            if not isinstance(name, str) or (place == "header" and name.lower() in LEFT_OUT):
                continue
            schema = _resolve(self._document, parameter.get("schema"))
            properties[name] = self._described(schema, parameter.get("description"))
            if place == "path" or parameter.get("required") is True:
                required[name] = None
        self._add_body(_resolve(self._document, operation.get("requestBody")), properties, required)
        return {"type": "object", "properties": properties, "required": list(required)}

    def _add_body(
        self, body: Mapping[str, Any], properties: dict[str, Any], required: dict[str, None]
    ) -> None:
        content = body.get("content")
        kinds = content if isinstance(content, Mapping) else {}
        kind = next((one for one in kinds if "json" in one), next(iter(kinds), None))
        if kind is None:
            return
        schema = _resolve(self._document, _resolve(self._document, kinds[kind]).get("schema"))
        is_needed = body.get("required") is True
        fields = schema.get("properties")
        if isinstance(fields, Mapping) and not properties.keys() & fields.keys():
            properties |= {name: self._written(field) for name, field in fields.items()}
            needed = schema.get("required")
            if is_needed and isinstance(needed, list):
                required |= dict.fromkeys(name for name in needed if isinstance(name, str))
        else:
            properties[BODY] = self._described(schema, body.get("description"))
            if is_needed:
                required[BODY] = None

    def _described(self, schema: Mapping[str, Any], about: Any) -> Any:
        written = self._written(schema)
        if isinstance(about, str) and isinstance(written, dict):
            return {"description": about, **written}
        return written

    def _written(self, value: Any, depth: int = 0) -> Any:
        """Return a schema without references; what is too deep or too long is left open."""
        self._left -= 1
        if isinstance(value, list):
            return [self._written(one, depth + 1) for one in value]
        if not isinstance(value, Mapping):
            return value
        if depth > MAX_DEPTH or self._left <= 0:
            self.is_shortened = self.is_shortened or bool(value)
            return {}
        schema = _resolve(self._document, value) if "$ref" in value else value
        written = {key: self._written(one, depth + 1) for key, one in schema.items()}
        return _drop_lost_names(schema, written)


def _drop_lost_names(schema: Mapping[str, Any], written: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that requires no property which was left out here."""
    before = schema.get("properties")
    required = schema.get("required")
    if not isinstance(before, Mapping) or not isinstance(required, list):
        return written
    lost = before.keys() - written["properties"].keys()
    kept = [name for name in written["required"] if not (isinstance(name, str) and name in lost)]
    return {**written, "required": kept}
