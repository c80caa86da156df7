"""Results of calls in the messages of every provider: of which call, and whether it failed.

results_of(messages)   → {"call_1": False, "toolu_2": True}
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from toolscout.discovery.providers.calls import is_of_model
from toolscout.discovery.providers.fields import UNREADABLE, Json, decode, mapping, mappings

MAX_ERROR_CHARS = 10_000
"""Characters of a text that is looked into for an error; a longer one is content."""

_ERRORS = ("error", "isError", "is_error")
"""Keys with which the result of a tool says that it is an error, as MCP's and most SDKs' do."""

_TOLD = ("output", "result")
"""Where Gemini's callers put what a function has returned."""


def results_of(messages: Iterable[Json]) -> dict[str, bool]:
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
        for id_, name, has_failed in _results_in(message):
            if id_:
                of_ids[id_] = has_failed
            if name:
                of_names[name] = has_failed
    return of_names | of_ids


def _results_in(message: Json) -> Iterator[tuple[str, str, bool]]:
    """Yield the id of each call, the name of its tool where the result has it, and its failure."""
    lists = (mappings(message.get(key)) for key in ("content", "parts"))
    for part in (message, *(part for parts in lists for part in parts)):
        if part.get("role") == "tool":
            yield _text(part, "tool_call_id"), "", _is_error(part.get("content"))
        elif part.get("type") == "function_call_output":
            yield _text(part, "call_id"), "", _is_error(part.get("output"))
        elif part.get("type") == "tool_result":
            has_failed = part.get("is_error") is True or _is_error(part.get("content"))
            yield _text(part, "tool_use_id"), "", has_failed
        elif of_bedrock := mapping(part.get("toolResult")):
            has_failed = of_bedrock.get("status") == "error" or _is_error(of_bedrock.get("content"))
            yield _text(of_bedrock, "toolUseId"), "", has_failed
        elif of_gemini := mapping(part.get("functionResponse") or part.get("function_response")):
            name = _text(of_gemini, "name")
            response = mapping(of_gemini.get("response"))
            told = (response, *(response.get(key) for key in _TOLD))
            yield _text(of_gemini, "id"), name, any(map(_is_error, told))


def _text(part: Json, key: str) -> str:
    value = part.get(key)
    return value if isinstance(value, str) else ""


def _is_error(content: Any) -> bool:
    """Whether a result is an object with an error, or a text or a part that holds one."""
    if isinstance(content, list):
        parts = mappings(content)
        return any(_is_error(part.get("text")) or _is_error(part.get("json")) for part in parts)
    if isinstance(content, str):
        if len(content) > MAX_ERROR_CHARS or not content.lstrip().startswith("{"):
            return False
        try:
            content = decode(content)
        except UNREADABLE:
            return False
    return isinstance(content, Mapping) and any(map(content.get, _ERRORS))
