"""Meta-tools, with which an agent finds its tools itself instead of being shown all of them.

    tools = [*meta_tools("anthropic"), *pinned]
    …
    text = handle_meta_call(call.name, call.arguments, all_tools, selector, gate)
    if text is None:  # no meta-tool: yours to run, unless the gate refuses
        refusal = gate.refusal(tool)

None of them ever executes a tool.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from toolscout.client.offer import Offer
from toolscout.client.selection import Selection
from toolscout.client.selector import AsyncSelector, Selector
from toolscout.contract.fields import DEFAULT_TOP_K
from toolscout.discovery import local
from toolscout.discovery.agents import answers
from toolscout.discovery.agents.answers import MAX_SCHEMAS, PAGE_SIZE
from toolscout.discovery.providers import ProviderName, provider_named
from toolscout.discovery.providers.fields import arguments_of
from toolscout.discovery.risk import RiskGate

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
            "properties": {"name": {**_TEXT, "description": "The tool's name"}},
            "required": ["name"],
        },
    ),
    "get_tool_schemas": (
        "Return the full schemas of several tools in one call.",
        {
            "type": "object",
            "properties": {
                "names": {
                    "type": "array",
                    "items": _TEXT,
                    "description": f"Names of tools, at most {MAX_SCHEMAS}",
                }
            },
            "required": ["names"],
        },
    ),
}
META_TOOL_NAMES = tuple(_META)


def meta_tools(provider: ProviderName = "openai") -> list[Any]:
    """The definitions of the meta-tools in a provider's shape.

    Raises:
        InvalidArgument: there is no provider of that name.
    """
    shapes = provider_named(provider)
    return [shapes.function(name, about, schema) for name, (about, schema) in _META.items()]


def instructions() -> str:
    """Return the instructions for a system prompt with the meta-tools."""
    return (
        "You have more tools than are listed. Call search_tools with the task in a few words to "
        "find them, then tool_info to read the input schema of the one you choose, or "
        "get_tool_schemas for several, then call it by its exact name. Never guess a name or a "
        "parameter. Tools that write elsewhere or destroy something can only be called after "
        "their schema was read; ask before you call one that needs confirmation. If a search "
        "finds nothing, try other words before you say it cannot be done."
    )


def handle_meta_call(  # noqa: PLR0911  # one answer for each kind of call
    name: str,
    arguments: Mapping[str, Any] | str | bytes | None,
    tools: Sequence[Any],
    selector: Selector | None = None,
    gate: RiskGate | None = None,
) -> str | None:
    """Answer a call of a meta-tool with JSON text; None when `name` is no meta-tool.

    Args:
        name: the tool the model called.
        arguments: those of the call, as an object or as JSON text; errors are in the answer.
        tools: all tools there are, of any shape.
        selector: asks the service; without one the search is local.
        gate: records which schemas were read.

    Raises:
        InvalidArgument: `tools` is no sequence of tools.
    """
    offer = Offer(tools)
    if name not in _META or name in offer.names:
        return None
    given = arguments_of(arguments)
    if name == "list_tools_meta":
        return answers.list_answer(given, offer)
    if name == "tool_info":
        return answers.info_answer(given, offer, gate)
    if name == "get_tool_schemas":
        return answers.schemas_answer(given, offer, gate)
    wanted = _search_arguments(given)
    if isinstance(wanted, str):
        return wanted
    query, top_k = wanted
    if selector is None:
        return answers.search_answer(_local(query, tools, top_k), offer)
    return answers.search_answer(selector.select(query, tools, top_k), offer)


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
    return answers.search_answer(await selector.select(query, tools, top_k), offer)


def _search_arguments(arguments: Mapping[str, Any]) -> tuple[str, int] | str:
    query, top_k = arguments.get("query"), arguments.get("top_k")
    top_k = DEFAULT_TOP_K if top_k is None else top_k
    if not isinstance(query, str) or not query.strip():
        return answers.error_answer("query: expected a text")
    if isinstance(top_k, bool) or not isinstance(top_k, int):
        return answers.error_answer("top_k: expected a whole number")
    return query, top_k


def _local(query: str, tools: Sequence[Any], top_k: int) -> Selection[Any]:
    found = local.search(query, tools, top_k) or local.keyword_search(query, tools, top_k)
    return Selection(found, [])
