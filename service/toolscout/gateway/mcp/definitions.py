"""What the gateway offers of its own: tools, prompts and instructions, as hosts list them."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import mcp_types
from fastmcp.exceptions import PromptError
from fastmcp.prompts import Prompt
from fastmcp.prompts.base import PromptArgument
from fastmcp.tools import Tool

from toolscout.contract.fields import Risk
from toolscout.gateway.mcp.gateway import Gateway, Session, Status
from toolscout.gateway.mcp.listing import Offered
from toolscout.gateway.mcp.servers import Config
from toolscout.gateway.mcp.tools import CALL, CallTool, ServerTools
from toolscout.metatools import table
from toolscout.metatools.answers import find_tool
from toolscout.metatools.arguments import CallError, schema_of
from toolscout.metatools.table import TOOLS

MAX_NAMED_SERVERS = 20

OWN = ("search_tools", "tool_info", "list_tools_meta", "get_required_keys_for_tool")

ALWAYS = {"anthropic/alwaysLoad": True}
"""Tells Claude Code not to defer a tool behind its own search: two would be needed."""

MAX_SEARCH_CHARS = 300
"""Characters of the description of `search_tools`: hosts show it to a model in every turn."""

HOW_TO_CALL = "Call it with call_tool, and with the token that tool_info shows if there is one."


class Listed(Tool):
    """A tool of a list; calls are answered elsewhere."""

    def to_mcp_tool(self, **overrides: Any) -> mcp_types.Tool:
        """Return the protocol's tool, without what the library would add to its `_meta`."""
        return super().to_mcp_tool(**{"_meta": self.meta, **overrides})


class Written(Prompt):
    """A prompt of one text."""

    write: Callable[[Mapping[str, Any]], Awaitable[str]]

    async def render(self, arguments: dict[str, Any] | None = None) -> str:
        """Return the text for some arguments."""
        return await self.write(arguments or {})


def own_tools(config: Config) -> list[Tool]:
    """Return the gateway's own tools.

    `search_tools` names the servers, for models do not call a search of nothing in particular;
    `call_tool` is annotated with the worst that it may do.
    """
    max_risk: Risk = config.options.max_risk
    worst = mcp_types.ToolAnnotations(
        read_only_hint=max_risk == "read_only",
        destructive_hint=max_risk == "destructive",
        open_world_hint=max_risk in ("write_remote", "destructive"),
    )
    harmless = mcp_types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    definitions = [
        Listed(
            name=one.name,
            description=one.description,
            parameters=schema_of(one.arguments),
            annotations=harmless,
            meta=ALWAYS,
        )
        for one in map(TOOLS.__getitem__, OWN)
    ]
    definitions[0].description = _of_servers(definitions[0].description or "", config.servers)
    call = Listed(
        name=CALL,
        description=CallTool.__doc__,
        parameters=schema_of(CallTool),
        annotations=worst,
        meta=ALWAYS,
    )
    return [*definitions[:2], call, *definitions[2:]]


def pinned_tools(offered: Iterable[Offered]) -> list[Tool]:
    """Return tools of servers as themselves, under their whole names."""
    return [
        Listed(
            name=one.shown["name"],
            title=one.tool.title,
            description=one.tool.description,
            parameters=one.tool.input_schema,
            output_schema=one.tool.output_schema,
            annotations=one.tool.annotations,
            icons=one.tool.icons,
            meta={**(one.tool.meta or {}), **ALWAYS},
        )
        for one in offered
    ]


def _of_servers(description: str, names: Iterable[str]) -> str:
    """Add the names of servers to a description, as many as fit."""
    listed, end = "", " The only way to tools of: "
    for name in names:
        longer = f"{listed}, {name}" if listed else name
        if len(description) + len(end) + len(longer) + len(", ….") > MAX_SEARCH_CHARS:
            return f"{description}{end}{listed}, …." if listed else description
        listed = longer
    return f"{description}{end}{listed}."


def instructions(config: Config) -> str:
    """Return what a host tells its model of the gateway."""
    names = list(config.servers)
    more = ", …" if len(names) > MAX_NAMED_SERVERS else ""
    return table.instructions(
        "Tools of these servers are behind search_tools: "
        f"{', '.join(names[:MAX_NAMED_SERVERS])}{more}.",
        f"call it with {CALL}",
        "Tools that write elsewhere or destroy something need the token that tool_info shows; "
        "ask before you call one that needs confirmation.",
    )


def prompts(gateway: Gateway) -> list[Prompt]:
    """Return the prompts to offer: find a tool for a task, and see which servers answer."""

    async def best(arguments: Mapping[str, Any]) -> str:
        await gateway.ready()
        try:
            return await find_tool(
                ServerTools(gateway, Session()), arguments.get("task"), HOW_TO_CALL
            )
        except CallError as error:
            raise PromptError(str(error)) from None

    async def status(_: Mapping[str, Any]) -> str:
        await gateway.ready()
        return "\n".join(map(_line, gateway.status()))

    task = PromptArgument(name="task", description="What you want to do", required=True)
    return [
        Written(
            name="find_tool",
            title="Find a tool",
            description="Search a tool for a task, and show how to call the best one",
            arguments=[task],
            write=best,
        ),
        Written(
            name="backend_status",
            title="Status of the servers",
            description="Which servers answer, and how many tools of each are offered",
            write=status,
        ),
    ]


def _line(server: Status) -> str:
    """Return the state of a server in a line."""
    tools = f"{server.tools} tool" if server.tools == 1 else f"{server.tools} tools"
    line = f"{server.name}: answers, {tools}"
    if server.reason is not None:
        kept = f"; {tools} of its last list cannot be called" if server.tools else ""
        line = f"{server.name}: does not answer: {server.reason}{kept}"
    return f"{line}; left out: {server.left_out}" if server.left_out else line
