"""Calls of tools in messages and responses of every provider: read, recognised, rewritten.

change_calls(message, lambda name, arguments: ("call_tool", {"name": name, …}))
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from toolscout.turns.providers.fields import (
    Json,
    arguments_of,
    as_dict,
    encode,
    mapping,
    mappings,
    text_at,
    text_of,
)

Change = Callable[[str, Mapping[str, Any]], tuple[str, Mapping[str, Any]]]
"""From the name and the arguments of a call to others."""

_TYPED = {"function_call": ("call_id", "arguments"), "tool_use": ("id", "input")}
"""Keys of id and arguments, by the `type` of what is a call itself: Responses, Anthropic."""

_NESTED = {
    "function": ("", "arguments"),
    "toolUse": ("toolUseId", "input"),
    "functionCall": ("id", "args"),
    "function_call": ("id", "args"),
}
"""The same by the key that holds a call: chat completions (its id is outside), Bedrock, Gemini."""

_OTHERS = (
    "custom",
    "custom_tool_call",
    "computer_call",
    "mcp_approval_request",
    "shell_call",
    "local_shell_call",
    "apply_patch_call",
)
"""Values of `type` of calls that are no function's, and that the client answers all the same."""

_RESULTS = ("tool_result", "function_call_output", "tool_search_output")
"""Values of `type` of results, which may hold anything."""

_ROLES = ("assistant", "model")
_TEXTS = ("text", "output_text")


UNNAMED = "part-"
"""How the id of a call begins to which the model gives none."""


class Call(NamedTuple):
    """A call of a tool by the model."""

    id: str
    """Empty without one."""
    name: str
    raw: Any
    """The arguments as the provider wrote them."""

    @property
    def has_own_id(self) -> bool:
        """Whether the model has given it its id."""
        return bool(self.id) and not self.id.startswith(UNNAMED)

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments; empty if they are missing or no JSON object."""
        return arguments_of(self.raw)

    @property
    def query(self) -> str:
        """The query of a search call: a text or a list of texts, perhaps under another key."""
        arguments = self.arguments
        texts = [text for value in arguments.values() if (text := _join(value)).strip()]
        return _join(arguments.get("query")) or (texts[0] if len(texts) == 1 else "")


def _join(value: Any) -> str:
    """Return a text, or those of a list as one."""
    if isinstance(value, list):
        return " ".join(filter(None, map(_join, value)))
    return value if isinstance(value, str) else ""


def _place_of(part: Json) -> tuple[str, Json, str, str] | None:
    """Return the key of the object that is a call (empty: the part), the object, and its keys."""
    kind = part.get("type")
    if isinstance(kind, str) and kind in _TYPED:
        return ("", part, *_TYPED[kind])
    for key, keys in _NESTED.items():
        if key in part and (call := mapping(part[key])) and "parameters" not in call:
            return (key, call, *keys)
    return None


def call_in(part: Json) -> Call | None:
    """Return the call that a part of a turn is, without a name if it is no function's.

    None if it is something else.
    """
    place = _place_of(part)
    if place is None:
        own_id = part.get("call_id") or part.get("id") or ""
        return Call(str(own_id), "", None) if is_other(part) else None
    _, call, id_key, arguments_key = place
    id_ = call.get(id_key) if id_key else part.get("id")
    name = text_at(call, "name")
    space = text_at(part, "namespace")  # which Responses alone have
    if name and space:
        name = f"{space}.{name}"
    return Call(str(id_ or ""), name, call.get(arguments_key))


def walk_parts(message: Json) -> Iterator[Json]:
    """Yield a message, which may be a call or a result itself, and its parts."""
    yield message
    for key in ("tool_calls", "content", "parts"):
        yield from mappings(message.get(key))


def is_other(part: Json) -> bool:
    """Whether a part of a turn asks the client for something else than a function."""
    return part.get("type") in _OTHERS


class Remover:
    """Removes the calls of one tool from one turn.

    Of parallel calls only the first has a thought signature, without which Gemini 3 refuses the
    conversation; that of a removed call moves to the next call that has none.

    Args:
        name: of the tool.
        keys: where a call may have such a signature.
    """

    def __init__(self, name: str, *keys: str) -> None:
        self._name = name
        self._keys = keys
        self._signature: Json = {}
        self.removed = False

    def kept(self, parts: list[Json]) -> list[Json]:
        """Return the parts that are left of the next ones."""
        left = []
        for part in parts:
            call = call_in(part)
            if call is not None and call.name == self._name:
                self.remove(part)
            else:
                left.append(part if call is None else self.signed(part))
        return left

    def remove(self, part: Json) -> None:
        """Take the signature of a removed call, or of a piece of it."""
        self.removed = True
        self._signature = self._signature or {k: part[k] for k in self._keys if part.get(k)}

    def signed(self, part: Json) -> Json:
        """Return a call that is left, with the signature of one that was removed before it."""
        moved = self._signature
        self._signature = {}
        return {**moved, **part}


def change_calls(value: Any, change: Change) -> Any:
    """Return messages or a response with changed calls; a part without calls is returned itself."""
    if isinstance(value, list):
        changed: Any = [change_calls(part, change) for part in value]
        return changed if any(a is not b for a, b in zip(changed, value, strict=True)) else value
    fields = as_dict(value)
    if fields is None or fields.get("type") in _RESULTS or "toolResult" in fields:
        return value
    changed = _change(fields, change)
    return value if changed is fields else changed


def _change(fields: Json, change: Change) -> Json:
    if (located := _place_of(fields)) is not None:
        place, call, _, key = located
        if isinstance(call.get("name"), str):
            written = _change_call(call, key, change)
            if written is call:
                return fields
            return {**fields, place: written} if place else written
    if isinstance(answer := fields.get("functionResponse"), dict):  # Gemini's names its call
        name, _ = change(str(answer.get("name")), {})
        named = {**answer, "name": name}
        return fields if name == answer.get("name") else {**fields, "functionResponse": named}
    if fields.get("role") == "tool" and (own := text_at(fields, "name")):  # of chat completions
        return {**fields, "name": change(own, {})[0]}
    parts = {k: change_calls(v, change) for k, v in fields.items() if k != "tools"}
    changed = {k: v for k, v in parts.items() if v is not fields[k]}
    return {**fields, **changed} if changed else fields


def _change_call(call: Json, key: str, change: Change) -> Json:
    raw = call.get(key)
    arguments = arguments_of(raw)
    name, changed = change(call["name"], arguments)
    if name == call["name"] and changed is arguments:
        return call
    if changed is arguments:  # which may be broken off
        return {**call, "name": name}
    written: Any = encode(changed).decode() if isinstance(raw, str) else dict(changed)
    return {**call, "name": name, key: written}


def make_dispatcher(name: str) -> Change:
    """Turn calls into calls of a tool of this name, which takes their name and arguments."""
    return lambda called, arguments: (name, {"name": called, "arguments": arguments})


def undo_dispatch(response: Json, name: str, change: Change | None) -> Json:
    """Return a response whose calls name their tools, without the tool through which they went.

    Args:
        response: as the model wrote it.
        name: of that tool.
        change: of its calls; None where the response has no call of it.
    """
    seen: Json = response if change is None else change_calls(response, change)
    tools = mappings(response.get("tools"))
    kept = [tool for tool in tools if tool.get("name") != name]
    return seen if len(kept) == len(tools) else {**seen, "tools": kept}


def read_messages(response: Json) -> list[Json]:
    """Return what a response adds to the history, in any provider's shape."""
    output = response.get("output")
    if isinstance(output, list):
        return mappings(output)
    message = mapping(mapping(output).get("message")) or response
    for key, inner in (("choices", "message"), ("candidates", "content")):
        if answers := mappings(response.get(key)):
            message = mapping(answers[0].get(inner))
    return [{"role": _ROLES[0], **message}]


def is_of_model(message: Any) -> bool:
    """Whether a model has written a message, or an item of Responses."""
    fields = mapping(message)
    if "role" in fields:
        return fields["role"] in _ROLES
    return isinstance(kind := fields.get("type"), str) and not kind.endswith("_output")


def mark_of(message: Any) -> str:
    """Return what tells a model's message from its others, in a response and a later request alike.

    That is the id of its first call, else its text; empty without either. Callers trim texts and
    leave thoughts out, so neither spaces nor thoughts count.
    """
    fields = mapping(message)
    for part in walk_parts(fields):
        if (call := call_in(part)) is not None and (call.id or call.name):
            return str(call.id or encode([call.name, call.raw]))
    return read_words(fields)


def read_words(message: Json) -> str:
    """Return the text of a model's message without spaces and thoughts."""
    content = message.get("content") or message.get("parts")
    if isinstance(content, list):
        content = [part for part in mappings(content) if not part.get("thought")]
    return "".join(text_of(content, _TEXTS).split())
