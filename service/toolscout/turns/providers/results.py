"""Results of calls in the messages of every provider: of which call, and whether it failed.

read_results(messages)   → {"call_1": False, "toolu_2": True}
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from toolscout.turns.providers.calls import is_of_model, walk_parts
from toolscout.turns.providers.fields import UNREADABLE, Json, mapping, mappings, text_at

MAX_ERROR_CHARS = 1024 * 1024
"""Characters of a JSON text that is looked into for an error; a longer one is content."""

_ERRORS = ("error", "isError", "is_error")
"""Keys with which the result of a tool says that it is an error, as MCP's and most SDKs' do."""

_WORKED = ("success", "ok")
"""Keys with which a result says that the call has not failed."""

_NO_ERROR = ("", "false", "none", "null")

_BEGINNING = re.compile(
    r"\s*(?:error:|error executing\b|traceback \(most recent call last\))", re.I
)
"""How the texts begin that frameworks make of an exception."""

_RETURNED = ("output", "result")
"""Where Gemini's callers put what a function has returned."""


_KEYS = (*_ERRORS, "errors", "status", *_WORKED)
_RESULT: Any = msgspec.defstruct("_Result", [(key, Any, None) for key in _KEYS])
"""The keys of a result that say whether it is an error; others are skipped unread."""

_DECODER = msgspec.json.Decoder(_RESULT | list[_RESULT])


def read_results(messages: Iterable[Json]) -> dict[str, bool]:
    """Return whether each call failed, by the id of the call; by the tool's name without one.

    By a name only the results after the model's last message count: before it, any call of the
    tool may have had them.
    """
    of_ids: dict[str, bool] = {}
    of_names: dict[str, bool] = {}
    for message in messages:
        if is_of_model(message):
            of_names = {}
            continue
        for id_, name, has_failed in _find_results(message):
            if id_:
                of_ids[id_] = has_failed
            if name:
                of_names[name] = has_failed
    return of_names | of_ids


def _find_results(message: Json) -> Iterator[tuple[str, str, bool]]:
    """Yield the id of each call, the name of its tool where the result has it, and its failure."""
    for part in walk_parts(message):
        if part.get("role") == "tool":
            yield text_at(part, "tool_call_id"), "", _is_error(part.get("content"))
        elif part.get("type") == "function_call_output":
            yield text_at(part, "call_id"), "", _is_error(part.get("output"))
        elif part.get("type") == "tool_result":
            has_failed = part.get("is_error") is True or _is_error(part.get("content"))
            yield text_at(part, "tool_use_id"), "", has_failed
        elif of_bedrock := mapping(part.get("toolResult")):
            has_failed = of_bedrock.get("status") == "error" or _is_error(of_bedrock.get("content"))
            yield text_at(of_bedrock, "toolUseId"), "", has_failed
        elif of_gemini := mapping(part.get("functionResponse") or part.get("function_response")):
            name = text_at(of_gemini, "name")
            response = mapping(of_gemini.get("response"))
            parts = (response, *(response.get(key) for key in _RETURNED))
            yield text_at(of_gemini, "id"), name, any(map(_is_error, parts))


def _is_error(content: Any) -> bool:
    """Whether a result is an error, a text or a part that holds one, or a list of errors alone."""
    if isinstance(content, str):
        return _BEGINNING.match(content) is not None or _is_error(_read(content))
    if isinstance(content, list):
        parts = mappings(content)
        if any(_is_error(part.get("text")) or _is_error(part.get("json")) for part in parts):
            return True
        return bool(content) and len(parts) == len(content) and all(map(_is_error, parts))
    if not isinstance(content, Mapping):
        return False
    errors = content.get("errors")
    status = content.get("status")
    return (
        any(_is_set(content.get(key)) for key in _ERRORS)
        or any(key in content and _is_denied(content[key]) for key in _WORKED)
        or (isinstance(errors, list) and bool(errors))
        or (isinstance(status, str) and status.lower() == "error")
    )


def _read(text: str) -> Any:
    """Return what a JSON text says of errors; None if it is no JSON, or too long."""
    if len(text) > MAX_ERROR_CHARS or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        read = _DECODER.decode(text)
    except (*UNREADABLE, msgspec.MsgspecError):
        return None
    several = [msgspec.structs.asdict(one) for one in (read if isinstance(read, list) else [read])]
    return several if isinstance(read, list) else several[0]


def _is_set(value: Any) -> bool:
    return bool(value) and not (isinstance(value, str) and value.strip().lower() in _NO_ERROR)


def _is_denied(value: Any) -> bool:
    return value is False or (isinstance(value, str) and value.lower() == "false")
