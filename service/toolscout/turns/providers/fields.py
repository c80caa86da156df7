"""Read and change fields of requests and responses, which may hold anything; sum up usages."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

import msgspec

from toolscout.errors import InvalidArgument

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
        return object_of(raw) or {}
    return raw if isinstance(raw, Mapping) else {}


def mappings(value: Any) -> list[Json]:
    """Return the objects of a list as dicts; empty for anything else."""
    if not isinstance(value, list):
        return []
    return [fields for item in value if (fields := as_dict(item)) is not None]


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
        dumped = dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
    except Exception:
        return None
    return dumped if isinstance(dumped, dict) else None


def text_at(value: Mapping[str, Any], key: str) -> str:
    """Return the text under a key; empty for anything else."""
    text = value.get(key)
    return text if isinstance(text, str) else ""


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


def change_at(value: Any, path: Sequence[str], change: Callable[[list[Json]], list[Json]]) -> Any:
    """Return a value whose lists of objects at a path are changed; itself where none is.

    Lists on the way are followed to each of their objects.
    """
    if isinstance(value, list):
        items = [
            change_at(item, path, change) if isinstance(item, dict) else item for item in value
        ]
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    fields = as_dict(value)
    if fields is None:
        return value
    key, *rest = path
    inner: Any = fields.get(key)
    if rest:
        changed = change_at(inner, rest, change)
        return value if changed is inner else {**fields, key: changed}
    objects = mappings(inner)
    kept = change(objects)
    return value if kept == objects else {**fields, key: kept}


def add(total: Any, usage: Any) -> Any:
    """Add two usages: numbers are summed at every depth, of anything else the later one stays.

    The entries of a list (Gemini counts by modality) are summed where all but their numbers is
    the same.
    """
    if usage is None or total is None:
        return total if usage is None else usage
    if _is_number(total) and _is_number(usage):
        return total + usage
    if isinstance(total, Mapping) and isinstance(usage, Mapping):
        return {**total, **{key: add(total.get(key), value) for key, value in usage.items()}}
    if isinstance(total, list) and isinstance(usage, list):
        added = list(total)
        for entry in usage:
            alike = [place for place, other in enumerate(added) if _label(other) == _label(entry)]
            if alike:
                added[alike[0]] = add(added[alike[0]], entry)
            else:
                added.append(entry)
        return added
    return usage


def _label(entry: Any) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    return {key: value for key, value in entry.items() if not _is_number(value)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_REQUEST_ID = "_request_id"
"""Attribute in which the OpenAI and Anthropic SDKs keep a response header."""


def body_of(response: Any) -> Json:
    """Read a response body as the provider sent it, without the fields that an SDK adds.

    Raises:
        InvalidArgument: it is neither a mapping nor an object with `model_dump`.
    """
    body = as_dict(response)
    if body is None and isinstance(response, Mapping):
        body = dict(response)
    if body is None:
        expected = "it to return a response body, as a dict or a pydantic object"
        raise InvalidArgument.of("forward", expected, response)
    return body


def in_type_of(response: Any, body: Json) -> Any:
    """Turn a body that was read from a response, and perhaps changed, into the response's type."""
    if isinstance(response, dict):
        return body
    if body == body_of(response):
        return response
    if isinstance(response, Mapping):
        return body
    kind: Any = type(response)
    try:
        made = kind.model_validate(body)
    except ValueError:
        # Providers send fields that their SDK does not know yet; it keeps them unvalidated.
        made = kind.model_construct(**body)
    if getattr(response, _REQUEST_ID, None) is not None:
        setattr(made, _REQUEST_ID, response._request_id)
    return made


UNREADABLE = (ValueError, RecursionError)
"""What decoding raises for bytes that are no JSON."""


def decode(content: bytes | str) -> Any:
    r"""Decode JSON, with lone surrogates (`"\ud83d"`) too, which msgspec refuses.

    Raises:
        ValueError: it is no JSON, or no UTF-8.
        RecursionError: it is nested too deeply.
    """
    try:
        return msgspec.json.decode(content)
    except ValueError:
        return json.loads(content, parse_float=_finite, parse_constant=_finite)


def _finite(written: str) -> float:
    """Return a number, but none that could not be written again: `NaN`, `Infinity`, `1e400`."""
    if not isfinite(number := float(written)):
        raise ValueError(f"{written} is no number of JSON")
    return number


def object_of(content: bytes | str) -> Json | None:
    """Decode a JSON object; None for anything else."""
    try:
        value = decode(content)
    except UNREADABLE:
        return None
    return value if isinstance(value, dict) else None


def encode(value: Any) -> bytes:
    """Encode as JSON; with lone surrogates, in ASCII alone."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()
