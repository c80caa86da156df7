"""Read the fields of requests and responses, which may hold anything, and objects of pydantic."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolscout.discovery import wire

Json = dict[str, Any]

_RESULTS = frozenset(("toolResult", "functionResponse", "function_response"))
"""Keys of a part that is the result of a call."""


def has_more(turn: Json, key: str) -> bool:
    """Whether a turn has more under a key than results of calls, in any provider's shape."""
    parts = turn.get(key)
    return not isinstance(parts, list) or not all(map(_is_result, mappings(parts)))


def _is_result(part: Json) -> bool:
    return part.get("type") == "tool_result" or not _RESULTS.isdisjoint(part)


def names_once(names: Iterable[Any]) -> list[str]:
    """Return the strings among some names, each once, in their order."""
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def arguments_of(raw: Any) -> Mapping[str, Any]:
    """Return arguments as a mapping, decoded if they are JSON text; empty otherwise."""
    if isinstance(raw, str | bytes):
        try:
            raw = wire.decode(raw)
        except wire.UNREADABLE:
            return {}
    return raw if isinstance(raw, Mapping) else {}


def mappings(value: Any) -> list[Json]:
    """Return the objects of a list as dicts; empty for anything else."""
    if not isinstance(value, list):
        return []
    return [found for item in value if (found := as_dict(item)) is not None]


def mapping(value: Any) -> Json:
    """Return an object as a dict; empty for anything else."""
    return as_dict(value) or {}


def as_dict(value: Any) -> Json | None:
    """Return a dict as it is, a pydantic object as the JSON that was sent; None for others."""
    if isinstance(value, dict):
        return value
    dump = getattr(value, "model_dump", None)
    if not callable(dump) or isinstance(value, type):
        return None
    try:
        found = dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
    except Exception:
        return None
    return found if isinstance(found, dict) else None


def text_of(content: Any, kinds: Sequence[str] = ("text", "input_text")) -> str:
    """Return the text of a message's content: a text, or the text parts of a list."""
    if isinstance(content, str):
        return content
    parts = [
        part["text"]
        for part in mappings(content)
        if part.get("type", "text") in kinds and isinstance(part.get("text"), str)
    ]
    return "\n".join(parts)
