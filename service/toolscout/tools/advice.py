"""What a prompt says about the tools found for a task, with an example call of the best."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from toolscout.contract.tools import ToolDetail
from toolscout.tools.schemas import follow
from toolscout.tools.summary import first_sentence

MAX_DEPTH = 6
MAX_STEPS = 100
"""Values and parts of one example; a schema that refers to itself would have no end."""

_BY_TYPE: dict[str, Any] = {"integer": 1, "number": 1.0, "boolean": True, "null": None}
_BY_FORMAT = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "email": "name@example.com",
    "uri": "https://example.com",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
}


def example_arguments(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a value for every required parameter: one that the schema names, or a placeholder.

    A placeholder of a text is the parameter's name in angle brackets.
    """
    return _Example(schema).object(schema, 0)


class _Example:
    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._steps_left = MAX_STEPS

    def object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for part in self._parts(schema, depth):
            properties, required = part.get("properties"), part.get("required")
            for name in required if isinstance(required, list) else ():
                described = properties.get(name) if isinstance(properties, dict) else None
                if isinstance(name, str) and (described is not None or name not in made):
                    if not self._may_go_on():
                        return made
                    made[name] = self._value(name, described, depth + 1)
        return made

    def _value(self, name: str, schema: Any, depth: int) -> Any:
        schema = self._resolved(schema)
        if not schema or depth > MAX_DEPTH:
            return f"<{name}>"
        if "const" in schema:
            return schema["const"]
        for chosen in (schema.get("examples"), [schema.get("default")], schema.get("enum")):
            if isinstance(chosen, list) and chosen and chosen[0] is not None:
                return chosen[0]
        for option in (*_dicts(schema.get("anyOf")), *_dicts(schema.get("oneOf"))):
            if option.get("type") != "null":
                return self._value(name, option, depth + 1)
        return self._of_type(name, schema, depth)

    def _of_type(self, name: str, schema: dict[str, Any], depth: int) -> Any:
        kinds = schema.get("type")
        kind = next((k for k in kinds if k != "null"), None) if isinstance(kinds, list) else kinds
        if kind == "object" or (kind is None and ("properties" in schema or "allOf" in schema)):
            return self.object(schema, depth)
        if kind == "array":
            return [self._value(name, schema.get("items"), depth + 1)]
        if kind in ("integer", "number"):
            return schema.get("minimum", _BY_TYPE[kind])
        if isinstance(kind, str) and kind in _BY_TYPE:
            return _BY_TYPE[kind]
        return _BY_FORMAT.get(str(schema.get("format")), f"<{name}>")

    def _parts(self, schema: dict[str, Any], depth: int) -> Iterator[dict[str, Any]]:
        """Yield a schema, and those that it consists of."""
        yield schema
        for part in _dicts(schema.get("allOf")):
            if depth > MAX_DEPTH or not self._may_go_on():
                return
            yield from self._parts(self._resolved(part), depth + 1)

    def _resolved(self, schema: Any) -> dict[str, Any]:
        """Follow references within the schema, as far as they lead anywhere."""
        for _ in range(MAX_DEPTH):
            if not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
                break
            schema = follow(self._root, schema["$ref"])
        return schema if isinstance(schema, dict) else {}

    def _may_go_on(self) -> bool:
        self._steps_left -= 1
        return self._steps_left >= 0


def _dicts(options: Any) -> list[dict[str, Any]]:
    listed = options if isinstance(options, list) else []
    return [option for option in listed if isinstance(option, dict)]


CANDIDATES = 4
"""Tools that a prompt shows: the best one, and the names of the next ones."""

MAX_WHOLE_CHARS = 8_192
"""A larger tool is shown in brief."""


def best_tool(
    task: str, tool: ToolDetail, others: Sequence[str], call: str, *, is_clear: bool
) -> str:
    """Show the best tool for a task, and the names of the next ones.

    Args:
        task: what is to be done.
        tool: the best one, in full.
        others: names of the next ones.
        call: a sentence that says how a tool is called.
        is_clear: whether it fits, and is not only the nearest.
    """
    lead = "The best tool is" if is_clear else "No tool clearly fits; the nearest is"
    description, schema = tool.description or tool.summary or "", tool.input_schema or {}
    written = _json(schema)
    if len(description) + len(written) <= MAX_WHOLE_CHARS:
        example = {"name": tool.name, "arguments": example_arguments(schema)}
        shown = [f"Its input schema: {written}", f"Example call: {_json(example)}"]
    else:
        description = first_sentence(description)
        properties = schema.get("properties")
        parameters = ", ".join(properties if isinstance(properties, dict) else ()) or "none"
        shown = [f"Parameters: {parameters} (tool_info with detail full shows its schema)"]
    lines = [f"Task: {task}", "", f"{lead} `{tool.name}`: {description}", *shown]
    if tool.required_keys:
        lines += [f"It needs the keys: {', '.join(tool.required_keys)}"]
    if tool.requires_confirmation:
        lines += ["It destroys something: ask the user before you call it."]
    if others:
        lines += [f"Others that may fit: {', '.join(others)} (tool_info shows one)"]
    return "\n".join([*lines, "", f"{call} If none of them does the task, say so."])


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
