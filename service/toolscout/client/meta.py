"""Meta-tools: an agent that finds its tools itself, instead of being shown all of them.

    tools = [*meta_tools("anthropic"), *pinned]
    …
    text = handle_meta_call(call.name, call.arguments, all_tools, selector, gate)
    if text is None:  # no meta-tool: yours to run, unless the gate refuses
        refusal = gate.refusal(tool)

None of them ever executes a tool.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import msgspec

from toolscout.catalog.summary import first_sentence
from toolscout.client.providers import provider_named
from toolscout.client.providers.provider import arguments_of
from toolscout.client.risk import RiskGate, requires_confirmation, requires_full_schema, risk_of
from toolscout.client.selection import Selection
from toolscout.client.selector import AsyncSelector, Selector
from toolscout.client.strategies import search
from toolscout.client.tools import Offer, schema, texts
from toolscout.contract import DEFAULT_TOP_K

PAGE_SIZE = 50
MAX_PAGE_SIZE = 200
SUGGESTIONS = 3

_TEXT = {"type": "string"}
_META: dict[str, tuple[str, dict[str, Any]]] = {
    "search_tools": (
        "Find tools for a task. Returns names and what they do, best first.",
        {
            "type": "object",
            "properties": {
                "query": {**_TEXT, "description": "The task in a few words, or a tool's name"},
                "top_k": {"type": "integer", "description": "Most tools to return; default 5"},
            },
            "required": ["query"],
        },
    ),
    "list_tools_meta": (
        "List all tools by name, a page at a time. Prefer search_tools.",
        {
            "type": "object",
            "properties": {
                "cursor": {**_TEXT, "description": "next_cursor of the page before"},
                "page_size": {"type": "integer", "description": f"Default {PAGE_SIZE}"},
            },
        },
    ),
    "tool_info": (
        "Everything about one tool: description, input schema, risk. Read it before a call.",
        {
            "type": "object",
            "properties": {"name": {**_TEXT, "description": "The tool's exact name"}},
            "required": ["name"],
        },
    ),
}
META_TOOL_NAMES = tuple(_META)


def meta_tools(provider: str = "openai") -> list[Any]:
    """The definitions of the meta-tools in a provider's shape.

    Raises:
        InvalidArgument: there is no provider of that name.
    """
    shapes = provider_named(provider)
    return [shapes.function(name, about, schema) for name, (about, schema) in _META.items()]


def instructions() -> str:
    """What to put into a system prompt beside the meta-tools."""
    return (
        "You have more tools than are listed. Call search_tools with the task in a few words to "
        "find them, then tool_info to read the input schema of the one you choose, then call it "
        "by its exact name. Never guess a name or a parameter. Tools that write elsewhere or "
        "destroy something can only be called after tool_info; ask before you call one that needs "
        "confirmation. If a search finds nothing, try other words before you say it cannot be done."
    )


def handle_meta_call(
    name: str,
    arguments: Mapping[str, Any] | str | bytes | None,
    tools: Sequence[Any],
    selector: Selector | None = None,
    gate: RiskGate | None = None,
) -> str | None:
    """Answer a call of a meta-tool with JSON text; None when `name` is none, or a tool of yours.

    Args:
        name: the tool the model called.
        arguments: what it called it with, as an object or as JSON text; what is wrong with them is
            said in the answer.
        tools: all tools there are, of any shape.
        selector: asks the service; without one the search is local.
        gate: is told which schemas were read.

    Raises:
        InvalidArgument: `tools` are none.
    """
    offer = Offer(tools)
    if name not in _META or name in offer.names:
        return None
    given = arguments_of(arguments)
    if name != "search_tools":
        return _answer(name, given, offer, gate)
    wanted = _search_arguments(given)
    if isinstance(wanted, str):
        return wanted
    query, top_k = wanted
    if selector is None:
        return _found(_local(query, tools, top_k), offer)
    return _found(selector.select(query, tools, top_k), offer)


async def handle_meta_call_async(
    name: str,
    arguments: Mapping[str, Any] | str | bytes | None,
    tools: Sequence[Any],
    selector: AsyncSelector,
    gate: RiskGate | None = None,
) -> str | None:
    """As `handle_meta_call`, with an `AsyncSelector`."""
    given = arguments_of(arguments)
    wanted = _search_arguments(given)
    if name != "search_tools" or isinstance(wanted, str):
        return handle_meta_call(name, given, tools, None, gate)
    offer = Offer(tools)
    if name in offer.names:
        return None
    query, top_k = wanted
    return _found(await selector.select(query, tools, top_k), offer)


def _search_arguments(arguments: Mapping[str, Any]) -> tuple[str, int] | str:
    query, top_k = arguments.get("query"), arguments.get("top_k")
    top_k = DEFAULT_TOP_K if top_k is None else top_k
    if not isinstance(query, str) or not query.strip():
        return _error("query: expected a text")
    if isinstance(top_k, bool) or not isinstance(top_k, int):
        return _error("top_k: expected a whole number")
    return query, top_k


def _answer(name: str, arguments: Mapping[str, Any], offer: Offer, gate: RiskGate | None) -> str:
    return _listed(arguments, offer) if name == "list_tools_meta" else _info(arguments, offer, gate)


def _local(query: str, tools: Sequence[Any], top_k: int) -> Selection:
    found = search.search(query, tools, top_k) or search.keyword_search(query, tools, top_k)
    return Selection(found, [])


def _found(selection: Selection, offer: Offer) -> str:
    if selection.fell_open:
        # A model gains nothing from hundreds of names at once.
        return _error("the search is not available; use list_tools_meta", reason=selection.reason)
    return _write({"tools": [_summary(offer, name) for name in selection.names]})


def _listed(arguments: Mapping[str, Any], offer: Offer) -> str:
    names = sorted(offer.names)
    size, cursor = arguments.get("page_size") or PAGE_SIZE, arguments.get("cursor")
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        return _error("page_size: expected a whole number above 0")
    start = 0
    if cursor:
        if not isinstance(cursor, str) or cursor not in offer.by_name:
            return _error("cursor: not one that this list gave")
        start = names.index(cursor) + 1
    page = names[start : start + min(size, MAX_PAGE_SIZE)]
    answer: dict[str, Any] = {"tools": [_summary(offer, name) for name in page]}
    if page and page[-1] != names[-1]:
        answer["next_cursor"] = page[-1]
    return _write({**answer, "total": len(names)})


def _info(arguments: Mapping[str, Any], offer: Offer, gate: RiskGate | None) -> str:
    name = arguments.get("name")
    if not isinstance(name, str):
        return _error("name: expected a text")
    if name not in offer.by_name:
        near = get_close_matches(name, offer.names, SUGGESTIONS)
        return _error("there is no tool of this name", did_you_mean=near)
    tool = offer.by_name[name]
    if gate is not None:
        gate.note_read(tool)
    return _write(
        {
            "name": name,
            "description": texts(tool)[1],
            "input_schema": schema(tool),
            "risk": risk_of(tool),
            "requires_confirmation": requires_confirmation(tool),
        }
    )


def _summary(offer: Offer, name: str) -> dict[str, Any]:
    tool = offer.by_name[name]
    summary = {"name": name, "description": first_sentence(texts(tool)[1]), "risk": risk_of(tool)}
    return {**summary, "requires_tool_info": True} if requires_full_schema(tool) else summary


def _error(message: str, **more: Any) -> str:
    return _write({"error": message, **more})


def _write(answer: dict[str, Any]) -> str:
    return msgspec.json.encode(answer, enc_hook=str).decode()
