"""What tells one message of a model from its others, in a response and in a later request alike."""

from collections.abc import Iterator
from typing import Any

from toolscout.discovery import wire
from toolscout.discovery.providers.fields import Json, mapping, mappings, text_of

_ROLES = ("assistant", "model")

_TEXTS = ("text", "output_text")

_CALLS = {"tool_use": "id", "function_call": "call_id"}
"""Key of the id, by the `type` of a part or an item that is a call."""


def messages_of(response: Json) -> list[Json]:
    """Return what a response adds to the history, in any provider's shape."""
    output = response.get("output")
    if isinstance(output, list):
        return mappings(output)
    for key, inner in (("choices", "message"), ("candidates", "content")):
        if found := mappings(response.get(key)):
            return [_of_model(mapping(found[0].get(inner)))]
    return [_of_model(mapping(mapping(output).get("message")) or response)]


def is_of_model(message: Any) -> bool:
    """Whether a model has written a message, or an item of Responses."""
    given = mapping(message)
    if "role" in given:
        return given["role"] in _ROLES
    return isinstance(kind := given.get("type"), str) and not kind.endswith("_output")


def mark_of(message: Any) -> str:
    """Return the id of the first call of a model's message, else its text; empty without either.

    Callers trim texts and leave thoughts out, so neither spaces nor thoughts count.
    """
    given = mapping(message)
    return next(_ids(given), "") or words_of(given)


def words_of(message: Json) -> str:
    """Return the text of a model's message without spaces and thoughts."""
    content = message.get("content") or message.get("parts")
    if isinstance(content, list):
        content = [part for part in mappings(content) if not part.get("thought")]
    return "".join(text_of(content, _TEXTS).split())


def _ids(message: Json) -> Iterator[str]:
    parts = (message.get(key) for key in ("tool_calls", "content", "parts"))
    for part in (message, *(one for given in parts for one in mappings(given))):
        found: Any = ""
        if (key := _CALLS.get(str(part.get("type")))) is not None:
            found = part.get(key)
        elif "toolUse" in part:
            found = mapping(part["toolUse"]).get("toolUseId")
        elif call := mapping(part.get("functionCall") or part.get("function_call")):
            found = call.get("id") or wire.encode([call.get("name"), call.get("args")])
        elif "function" in part:
            found = part.get("id")
        if found:
            yield str(found)


def _of_model(message: Json) -> Json:
    """Return a message with its role, which a response may leave out."""
    return {"role": _ROLES[0], **message}
