"""The search tool that a request brings itself, executed here for models that have none.

    {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}   Anthropic
    {"type": "tool_search"}                                                        OpenAI
    {"type": "openrouter:tool_search"}                                             OpenRouter

The tool, the marks of deferred tools and what searches have left in the conversation are taken out
of the request, which is then one like any other: its tools without a mark are visible, the others
are searched. The caller sees the searches in the shape that its provider gives them.

A conversation may go on with a model that loads no tools. Then the references in its history are
written out as text, and its marked tools are searched here.
Sources: the documentation and the SDKs of Anthropic and OpenAI, and OpenRouter's OpenAPI.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from toolscout.client.offer import Offer
from toolscout.client.selection import Reason
from toolscout.discovery.providers import Call, Json, Provider
from toolscout.discovery.providers.fields import changed_at, mapping, mappings
from toolscout.discovery.providers.native import ANTHROPIC_SEARCH, OPENROUTER_SEARCH, has_search
from toolscout.discovery.providers.responses import grouped
from toolscout.discovery.shown import Found
from toolscout.tools.shapes import name_of

MARK, REFERENCE = "defer_loading", "tool_reference"

_TOOL = re.compile(f"tool_search.*|{OPENROUTER_SEARCH}")
"""Values of `type` of the providers' search tools."""

_PARTS = ("tool_search_tool_result", "tool_search_call", "tool_search_output", OPENROUTER_SEARCH)
"""Values of `type` of what a search leaves in a conversation, but for Anthropic's call."""

_KINDS = {"openai-responses": "tool_search", "anthropic": ANTHROPIC_SEARCH}
"""The search tool of each interface whose conversations hold searches."""

_OWN_IDS = ("tsc_", "tso_", "ts_")
"""How the ids of the items begin that are shown here, to which a caller may refer."""


class CallersSearch(msgspec.Struct):
    """The search that one request brings; most bring none."""

    request: Json
    """The request without it, if it can be executed here."""
    tools: list[Any]
    """The tools of that request."""
    defers: bool = False
    """Whether tools are marked, or searched by the provider or its caller."""
    tool: Json = {}
    """The search tool; empty without one, and for one that its caller executes."""
    visible: list[str] = []
    """Names of the tools without a mark."""
    loaded: list[str] = []
    """Names of the tools that searches in the conversation have found."""
    write: Callable[[Json, Call, list[Any], str], list[Json]] | None = None
    """Writes a search as the caller is to see it; None if the interface has no shape for that."""
    parts: list[Json] = []
    """What the caller is still to see."""

    def is_left_alone(self, search: str) -> bool:
        """Return whether it is not executed here; `search` says whose goes first where both can."""
        is_theirs = search == "theirs" and has_search(self.tool, self.request.get("model"))
        return self.defers and (not self.tool or is_theirs)

    def note(self, found: Sequence[Found], offer: Offer) -> None:
        """Remember searches for the caller."""
        if self.write is None:
            return
        for call, selection in found:
            names = () if selection.fell_open else selection.names
            error = _ERRORS.get(str(selection.reason), "unavailable") if selection.fell_open else ""
            self.parts += self.write(self.tool, call, [*map(offer.by_name.get, names)], error)

    def take(self) -> list[Json]:
        """Return what the caller is to see now, once."""
        taken, self.parts = self.parts, []
        return taken

    def shown_in(self, response: Json, path: Sequence[str]) -> Json:
        """Return a response with the searches before its other parts, which are at a path."""
        parts = self.take()
        return changed_at(response, path, lambda own: [*parts, *own]) if parts else response


def callers_search(provider: Provider, request: Json, tools: list[Any]) -> CallersSearch:
    """Read the search that a request brings."""
    searches = [tool for tool in map(mapping, tools) if _is_search(tool)]
    if any(tool.get("execution") == "client" for tool in searches):
        return CallersSearch(request, tools, True)
    history, loaded = provider.history(request), list[str]()
    kind = _KINDS.get(provider.name)
    loads = kind is None or has_search({"type": kind}, request.get("model"))
    left = (_without_searches(message, loaded, provider, loads) for message in history)
    kept = [message for message in left if message is not None]
    if not searches:
        # A caller may bring none any more, and still have what earlier ones have left.
        if kept != history and not loads:
            request = provider.with_history(request, kept)
        defers = any(_is_marked(mapping(tool)) for tool in tools)
        if loads or not defers or kept == history:
            return CallersSearch(request, tools, defers, loaded=loaded)
    others = [tool for tool in tools if not _is_search(mapping(tool))]
    visible = [name_of(mapping(tool)) for tool in others if not _is_marked(mapping(tool))]
    plain = [*map(_unmarked, others)]
    if not searches:
        request = provider.with_tools(request, plain)
        return CallersSearch(request, plain, visible=visible, loaded=loaded)
    search = searches[0]
    changed = provider.with_tools(request, plain)
    if kept != history:
        changed = provider.with_history(changed, kept)
    choice = mapping(request.get("tool_choice"))
    allowed = mappings(choice.get("tools"))
    real = [tool for tool in allowed if not _is_search(tool)]
    is_forced = (search.get("name") or search["type"]) in (choice.get("name"), choice.get("type"))
    if is_forced or (allowed and not real):
        del changed["tool_choice"]  # every further forward would have to search again
    elif allowed:
        changed["tool_choice"] = {**choice, "tools": real}
    write = _WRITERS.get(provider.name)
    return CallersSearch(changed, plain, True, search, visible, loaded, write)


def _is_search(tool: Json) -> bool:
    kind = tool.get("type")
    return isinstance(kind, str) and _TOOL.fullmatch(kind) is not None


def _is_marked(tool: Json) -> bool:
    return bool(tool.get(MARK) or mapping(tool.get("function")).get(MARK))


def _unmarked(tool: Any) -> Any:
    given = mapping(tool)
    if not _is_marked(given):
        return tool
    plain = {key: value for key, value in given.items() if key != MARK}
    if "function" in plain:
        plain["function"] = _unmarked(plain["function"])
    return plain


def _without_searches(message: Any, loaded: list[str], provider: Provider, loads: bool) -> Any:
    """Return what is left of a message or an item, or None; what was found goes to `loaded`.

    For a model that `loads` no tools, searches that the caller has executed go, too.
    """
    given = mapping(message)
    if _is_part(given) or (not loads and given.get("type") in _PARTS):
        loaded += [name_of(mapping(tool)) for tool in provider.tools(given)]
        return None
    if not loads:
        message = changed_at(given, ("content",), lambda parts: _written_out(parts, loaded))
        given = mapping(message)
    results = [block for block in mappings(given.get("content")) if _is_part(block)]
    if not results:
        return message
    contents = [mapping(block.get("content")) for block in results]
    references = [one for content in contents for one in mappings(content.get("tool_references"))]
    loaded += [str(reference.get("tool_name")) for reference in references]
    left = [block for block in given["content"] if not _is_part(mapping(block))]
    return {**given, "content": left} if left else None


def _written_out(parts: list[Json], loaded: list[str]) -> list[Json]:
    """Return the parts of a message whose results name tools as text, which go to `loaded`."""

    def named(inner: list[Json]) -> list[Json]:
        names = [str(one.get("tool_name")) for one in inner if one.get("type") == REFERENCE]
        if not names:
            return inner
        loaded.extend(names)
        text = {"type": "text", "text": f"These tools are available now: {', '.join(names)}"}
        return [*(one for one in inner if one.get("type") != REFERENCE), text]

    return [
        changed_at(part, ("content",), named) if part.get("type") == "tool_result" else part
        for part in parts
    ]


def _is_part(part: Json) -> bool:
    kind = part.get("type")
    if kind == "server_tool_use":
        return str(part.get("name")).startswith(ANTHROPIC_SEARCH)
    if kind == "item_reference":
        return str(part.get("id")).startswith(_OWN_IDS)
    return kind in _PARTS and part.get("execution") != "client"


_ERRORS = {str(Reason.EMPTY_SELECTION): "", str(Reason.EMPTY_QUERY): "invalid_tool_input"}
"""Anthropic's codes for why a search has found nothing; it is `unavailable` for other reasons."""


def _blocks(tool: Json, call: Call, tools: list[Any], error: str) -> list[Json]:
    """Return the blocks of Anthropic's messages."""
    key = "pattern" if "regex" in tool["type"] else "query"
    id_ = "srvtoolu_" + re.sub(r"\W", "_", call.id, flags=re.ASCII)
    references = [{"type": "tool_reference", "tool_name": name_of(tool)} for tool in tools]
    content: Json = {"type": "tool_search_tool_search_result", "tool_references": references}
    if error:
        content = {"type": "tool_search_tool_result_error", "error_code": error}
    name = tool.get("name") or f"{ANTHROPIC_SEARCH}bm25"
    asked: Json = {"type": "server_tool_use", "id": id_, "name": name}
    return [
        {**asked, "input": {key: call.query}},
        {"type": "tool_search_tool_result", "tool_use_id": id_, "content": content},
    ]


def _items(tool: Json, call: Call, tools: list[Any], error: str) -> list[Json]:
    """Return the items of Responses, OpenAI's or OpenRouter's."""
    if tool["type"] == OPENROUTER_SEARCH:
        item = {"type": OPENROUTER_SEARCH, "id": f"ts_{call.id}", "query": call.query}
        ended = {"status": "failed", "error": error} if error else {"status": "completed"}
        return [{**item, **ended}]
    executed = {"execution": "server", "call_id": None}
    executed["status"] = "incomplete" if error else "completed"
    asked = {"type": "tool_search_call", "id": f"tsc_{call.id}", "arguments": {"query": call.query}}
    found = {"type": "tool_search_output", "id": f"tso_{call.id}"}
    marked = [{**mapping(tool), MARK: True} for tool in tools]
    return [{**asked, **executed}, {**found, **executed, "tools": grouped(marked)}]


_WRITERS = {"anthropic": _blocks, "bedrock-anthropic": _blocks, "openai-responses": _items}
