"""Conversations that a model began which loads deferred tools, before one that does not.

Such a model refuses the `tool_reference` blocks and the items of searches in its history. They are
written out as text, what they name stays visible, and marked tools are searched here.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from toolscout.discovery.providers import Json, Provider
from toolscout.discovery.providers.fields import changed_at, mapping, mappings
from toolscout.discovery.providers.native import MARK, is_deferring, loads_tools
from toolscout.tools.shapes import name_of

REFERENCE = "tool_reference"

_SEARCH, _RESULT = "tool_search_tool", "tool_search_tool_result"
"""In the name of Anthropic's own search, and the `type` of what it found."""

_PARTS = ("tool_search_call", "tool_search_output")
"""Values of `type` of the items that a search leaves in OpenAI's conversations."""


class WrittenOut(NamedTuple):
    """A request without a trace of earlier searches, where its model could not read that."""

    request: Json
    tools: list[Any]
    """Its tools, without marks."""
    visible: Sequence[str] = ()
    """Names of tools that stay visible: those that were found, and without a mark among marked."""


def written_out(provider: Provider, request: Json, tools: list[Any]) -> WrittenOut:
    """Write the references of a conversation out, if there are any and they cannot stay."""
    if loads_tools(provider.name, request.get("model")):
        return WrittenOut(request, tools)
    history, found = provider.history(request), list[str]()
    left = [_without_searches(message, found, provider) for message in history]
    kept = [message for message in left if message is not None]
    if kept == history:
        return WrittenOut(request, tools)
    plain = [_unmarked(tool) for tool in tools]
    if plain != tools:
        found += [name_of(mapping(tool)) for tool in tools if not is_deferring(tool)]
    request = provider.with_tools(provider.with_history(request, kept), plain)
    return WrittenOut(request, plain, found)


def _unmarked(tool: Any) -> Any:
    given = mapping(tool)
    return {key: one for key, one in given.items() if key != MARK} if MARK in given else tool


def _without_searches(message: Any, found: list[str], provider: Provider) -> Any:
    """Return what is left of a message or an item, or None; what was found goes to `found`."""
    given = mapping(message)
    if given.get("type") in _PARTS:
        found += [name_of(mapping(tool)) for tool in provider.tools(given)]
        return None
    left = changed_at(message, ("content",), lambda parts: _in_words(parts, found))
    return None if left is not message and not left["content"] else left


def _in_words(parts: list[Json], found: list[str]) -> list[Json]:
    """Return the parts of a message whose results name tools as text, without a provider's own."""

    def named(inner: list[Json]) -> list[Json]:
        names = [str(one.get("tool_name")) for one in inner if one.get("type") == REFERENCE]
        if not names:
            return inner
        found.extend(names)
        text = {"type": "text", "text": f"These tools are available now: {', '.join(names)}"}
        return [*(one for one in inner if one.get("type") != REFERENCE), text]

    kept = []
    for part in parts:
        if part.get("type") == _RESULT:
            content = mapping(part.get("content"))
            found += [str(one.get("tool_name")) for one in mappings(content.get("tool_references"))]
        elif not (part.get("type") == "server_tool_use" and _SEARCH in str(part.get("name"))):
            is_result = part.get("type") == "tool_result"
            kept.append(changed_at(part, ("content",), named) if is_result else part)
    return kept
