"""Meta-tools, with which an agent finds its tools itself instead of being shown all of them.

    tools = [*meta_tools("anthropic"), *pinned]
    …
    text = handle_meta_call(call.name, call.arguments, all_tools, selector, gate)
    if text is None:  # no meta-tool: yours to run, unless the gate refuses
        refusal = gate.refusal(tool)

None of them ever executes a tool.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from inspect import isawaitable
from typing import Any, TypeVar

import msgspec
from msgspec.structs import asdict

from toolscout.client.offer import Offer
from toolscout.client.selection import Reason, Selection
from toolscout.client.selector import AsyncSelector, Selector
from toolscout.common.spelling import list_forms, make_key
from toolscout.contract.answers import Resolution
from toolscout.contract.fields import Level
from toolscout.contract.requests import Filters
from toolscout.contract.tools import Tool, ToolDetail
from toolscout.errors import InvalidRequest
from toolscout.metatools import table
from toolscout.metatools.answers import ToolsFound, describe_none, show
from toolscout.metatools.arguments import CallError, SearchTools, schema_of
from toolscout.metatools.gate import RiskGate
from toolscout.metatools.table import TOOLS
from toolscout.text.domains import load_bundled
from toolscout.tools.conversion import read_tools
from toolscout.tools.filters import count_domains, is_passing
from toolscout.tools.shapes import as_mapping
from toolscout.tools.traits import read_traits
from toolscout.turns import local
from toolscout.turns.drivers.pieces import run
from toolscout.turns.providers import ProviderName, get_provider
from toolscout.turns.providers.fields import arguments_of

T = TypeVar("T")

META_TOOL_NAMES = ("search_tools", "list_tools_meta", "tool_info", "get_tool_schemas")


def meta_tools(provider: ProviderName = "openai") -> list[Any]:
    """Return the definitions of the meta-tools in a provider's shape.

    Raises:
        InvalidArgument: there is no provider of that name.
    """
    shapes = get_provider(provider)
    defined = []
    for tool in map(TOOLS.__getitem__, META_TOOL_NAMES):
        schema = schema_of(tool.arguments)
        del schema["additionalProperties"]  # the one keyword that Gemini does not know
        defined.append(shapes.function(tool.name, tool.description, schema))
    return defined


def instructions() -> str:
    """Return the instructions for a system prompt with the meta-tools."""
    return table.write_instructions(
        "You have more tools than are listed.",
        "call it by its exact name",
        "Tools that write elsewhere or destroy something can only be called after their schema "
        "was read; ask before you call one that needs confirmation.",
    )


def handle_meta_call(
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
    return run(_answer(name, arguments, _Tools(tools, selector, gate)))


async def handle_meta_call_async(
    name: str,
    arguments: Mapping[str, Any] | str | bytes | None,
    tools: Sequence[Any],
    selector: AsyncSelector,
    gate: RiskGate | None = None,
) -> str | None:
    """As `handle_meta_call`, with an `AsyncSelector`."""
    return await _answer(name, arguments, _Tools(tools, selector, gate))


class _Tools:
    """All tools of one call, as the meta-tools look into them."""

    def __init__(
        self, tools: Sequence[Any], selector: Selector | AsyncSelector | None, gate: RiskGate | None
    ) -> None:
        self.offer = Offer(tools)
        self._all = tools
        self._selector = selector
        self._gate = gate

    async def search(self, arguments: SearchTools) -> ToolsFound:
        selection = await self._select(arguments)
        if selection.fell_open and selection.reason is not Reason.EMPTY_SELECTION:
            # A model gains nothing from hundreds of names at once.
            raise CallError(
                f"the search is not available ({selection.reason}); use list_tools_meta"
            )
        if selection.fell_open or not selection.names:
            return describe_none(self.offer.names)
        return ToolsFound(await self.show(selection.names, arguments.detail))

    async def names(self, filters: Filters | None) -> list[str]:
        if filters is None:
            return sorted(self.offer.names)
        passing = self._read(lambda tool: is_passing(tool, filters, load_bundled()))
        return sorted(name for name, has_passed in passing.items() if has_passed)

    async def resolve(self, names: Sequence[str]) -> list[Resolution]:
        return [resolve(name, self.offer.by_name) for name in names]

    async def show(self, names: Sequence[str], detail: Level) -> list[ToolDetail]:
        tools = [self.offer.by_name[name] for name in names]
        if self._gate is not None and detail == "full":
            for tool in tools:
                self._gate.note_read(tool)
        return [show(tool, detail) for tool in tools]

    async def required_keys(self, name: str) -> Sequence[str]:
        return as_mapping(self.offer.by_name[name]).get("required_keys") or ()

    async def _select(self, arguments: SearchTools) -> Selection[Any]:
        query = arguments.query
        count = arguments.top_k
        filters = arguments.filters
        if self._selector is None:
            names = set(await self.names(filters))
            tools = [tool for name, tool in self.offer.by_name.items() if name in names]
            best = local.search(query, tools, count) or local.keyword_search(query, tools, count)
            return Selection(best, [])
        sent = {name: value for name, value in asdict(filters).items() if value} if filters else {}
        fields = {"filters": sent} if sent else None
        chosen = self._selector.select(query, self._all, count, fields=fields)
        selection: Selection[Any] = await chosen if isawaitable(chosen) else chosen
        return selection

    async def domains(self) -> dict[str, int]:
        return count_domains(self._read(lambda tool: read_traits(tool, load_bundled())).values())

    def _read(self, look: Callable[[Tool], T]) -> dict[str, T]:
        """Return what is seen of each tool that can be read, by its name."""
        seen = {}
        for name, tool in self.offer.by_name.items():
            with suppress(InvalidRequest):
                (read,) = read_tools([tool])
                seen[name] = look(read)
        return seen


async def _answer(
    name: str, arguments: Mapping[str, Any] | str | bytes | None, tools: _Tools
) -> str | None:
    if name not in META_TOOL_NAMES or name in tools.offer.names:
        return None
    try:
        content: Any = await TOOLS[name].call(tools, arguments_of(arguments))
    except CallError as error:
        content = {"error": str(error)}
    return msgspec.json.encode(content, enc_hook=str).decode()


MAX_SUGGESTIONS = 3
"""Maximum number of similar names suggested for an unknown one."""


def resolve(written: str, names: Collection[str]) -> Resolution:
    """Find a name exactly, else in any spelling, else without its prefixes.

    A name that fits several tools is ambiguous; an unknown one gets suggestions.
    """
    name = written.strip()
    for exact in (written, name):
        if exact in names:
            return Resolution(written, exact, "exact")
    spelled = {one: own for one in names if (own := list_forms(one))}
    for form in (make_key(name), *list_forms(name)[1:]):
        owners = [one for one, own in spelled.items() if own[0] == form]
        owners = owners or [one for one, own in spelled.items() if form in own[1:]]
        if len(owners) == 1:
            return Resolution(written, owners[0], "alias")
        if owners:
            return Resolution(written, ambiguous=owners)
    near = get_close_matches(make_key(name), [own[0] for own in spelled.values()], MAX_SUGGESTIONS)
    alike = [one for form in dict.fromkeys(near) for one, own in spelled.items() if own[0] == form]
    return Resolution(written, suggestions=alike[:MAX_SUGGESTIONS] or None)
