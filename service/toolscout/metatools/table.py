"""The table of the meta-tools, from which the service, the gateway and the client offer theirs.

The name and the docstring of a handler are those that a model reads, and the types of its
arguments and of its answer make the schemas.
"""

from collections.abc import Awaitable, Callable, Mapping
from inspect import getdoc
from itertools import starmap
from typing import Any, NamedTuple

import msgspec

from toolscout.contract.catalogs import SchemasAnswer, ToolPage
from toolscout.contract.tools import ToolDetail
from toolscout.metatools import answers, arguments, finds
from toolscout.metatools.answers import ToolSource


class MetaTool(NamedTuple):
    """One tool of an agent."""

    title: str
    handler: Callable[[Any, Any], Awaitable[msgspec.Struct]]
    arguments: type[arguments.Arguments]
    answer: type[msgspec.Struct]

    @property
    def name(self) -> str:
        """Return the name by which a model calls the tool."""
        return self.handler.__name__

    @property
    def description(self) -> str:
        """Return what a model reads of the tool before it calls it."""
        return getdoc(self.handler) or ""

    async def call(self, source: ToolSource, written: Mapping[str, Any] | None) -> msgspec.Struct:
        """Answer a call.

        Raises:
            CallError: the arguments are wrong, or name nothing that there is.
        """
        return await self.handler(source, arguments.read_arguments(self.arguments, written))


_ROWS = (
    ("Search tools", answers.search_tools, arguments.SearchTools, answers.ToolsFound),
    ("List all tools", answers.list_tools_meta, arguments.ListToolsMeta, ToolPage),
    ("Show one tool", answers.tool_info, arguments.ToolInfo, ToolDetail),
    ("Show several tools", answers.get_tool_schemas, arguments.GetToolSchemas, SchemasAnswer),
    (
        "Keys of a tool",
        answers.get_required_keys_for_tool,
        arguments.GetRequiredKeys,
        answers.RequiredKeys,
    ),
)
TOOLS = {tool.name: tool for tool in starmap(MetaTool, _ROWS)}

FIND = MetaTool("Search tools", finds.search_tools, finds.FindTools, finds.ToolsRead)
"""`search_tools` of those that call tools, too: a result takes two turns."""


def write_instructions(where: str, call: str, gate: str) -> str:
    """Return what a model is told of the tools.

    Args:
        where: a sentence that says which tools are not listed.
        call: how the chosen tool is called.
        gate: what has to be done before a tool that writes elsewhere or destroys something.
    """
    return (
        f"{where} Call search_tools with the task in a few words to find them, then tool_info with "
        f'detail "full" to read the input schema of the one you choose, then {call}. Never guess a '
        f"name or an argument. {gate} If a search finds nothing, try other words, or page through "
        "everything with list_tools_meta, before you say it cannot be done."
    )
