"""Rewrite the calls in messages and responses of any provider.

with_calls(message, lambda name, arguments: ("call_tool", {"name": name, …}))
"""

from collections.abc import Callable, Mapping
from typing import Any

from toolscout.discovery import wire
from toolscout.discovery.providers.fields import Json, arguments_of, as_dict, mapping, mappings

Change = Callable[[str, Mapping[str, Any]], tuple[str, Mapping[str, Any]]]
"""From the name and the arguments of a call to others."""

_TYPED = {"function_call": "arguments", "tool_use": "input"}
"""Key of the arguments, by the `type` of what is a call itself: Responses, Anthropic."""

_NESTED = {"function": "arguments", "toolUse": "input", "functionCall": "args"}
"""Key of the arguments, by the key that holds a call: chat completions, Bedrock, Gemini."""

_RESULTS = ("tool_result", "function_call_output", "tool_search_output")
"""Values of `type` of results, which may hold anything."""


def with_calls(value: Any, change: Change) -> Any:
    """Return messages or a response with changed calls; a part without calls is returned itself."""
    if isinstance(value, list):
        changed: Any = [with_calls(part, change) for part in value]
        return changed if any(a is not b for a, b in zip(changed, value, strict=True)) else value
    given = as_dict(value)
    if given is None or given.get("type") in _RESULTS or "toolResult" in given:
        return value
    changed = _changed(given, change)
    return value if changed is given else changed


def calling_through(name: str) -> Change:
    """Turn calls into calls of a tool of this name, which takes their name and arguments."""
    return lambda called, arguments: (name, {"name": called, "arguments": arguments})


def called_through(name: str) -> Change:
    """Do the reverse; a call of that tool without the name of another stays as it is."""

    def change(called: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        wanted = arguments.get("name")
        if called != name or not isinstance(wanted, str) or not wanted:
            return called, arguments
        # Some models write the arguments beside the name.
        beside = {k: v for k, v in arguments.items() if k not in ("name", "arguments")}
        return wanted, {**beside, **arguments_of(arguments.get("arguments"))}

    return change


def without_dispatch(response: Json, name: str) -> Json:
    """Return a response whose calls name their tools, without the tool through which they went."""
    seen: Json = with_calls(response, called_through(name))
    tools = mappings(response.get("tools"))
    kept = [tool for tool in tools if tool.get("name") != name]
    return seen if len(kept) == len(tools) else {**seen, "tools": kept}


def _changed(given: Json, change: Change) -> Json:
    kind = given.get("type")
    key = _TYPED.get(kind) if isinstance(kind, str) else None
    if key is not None and isinstance(given.get("name"), str):
        return _with_call(given, key, change)
    for place, nested_key in _NESTED.items():
        inner = mapping(given.get(place))
        if isinstance(inner.get("name"), str) and "parameters" not in inner:
            call = _with_call(inner, nested_key, change)
            return given if call is inner else {**given, place: call}
    if isinstance(answer := given.get("functionResponse"), dict):  # Gemini's names its call
        name, _ = change(str(answer.get("name")), {})
        return given if name == answer.get("name") else _with(given, answer, name)
    parts = {k: with_calls(v, change) for k, v in given.items() if k != "tools"}
    changed = {k: v for k, v in parts.items() if v is not given[k]}
    return {**given, **changed} if changed else given


def _with(given: Json, answer: Json, name: str) -> Json:
    return {**given, "functionResponse": {**answer, "name": name}}


def _with_call(call: Json, key: str, change: Change) -> Json:
    raw = call.get(key)
    arguments = arguments_of(raw)
    name, changed = change(call["name"], arguments)
    if name == call["name"] and changed is arguments:
        return call
    is_text = isinstance(raw, str)
    written: Any = wire.encode(changed).decode() if is_text else dict(changed)
    return {**call, "name": name, key: written}
