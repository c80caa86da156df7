"""The definitions of the gateway's own tools, as hosts list them."""

from collections.abc import Iterable, Sequence
from typing import Any

import mcp_types
from fastmcp.tools import Tool

from toolscout.contract.fields import Risk
from toolscout.discovery.agents.answers import MAX_PAGE_SIZE, PAGE_SIZE
from toolscout.gateway.mcp.listing import Offered
from toolscout.gateway.mcp.servers import Config

DEFAULT_RESULTS = 5
MAX_RESULTS = 50
MAX_NAMED_SERVERS = 20

SEARCH, INFO, CALL = "search_tools", "tool_info", "call_tool"
LIST, KEYS = "list_tools_meta", "get_required_keys_for_tool"

_TEXT = {"type": "string"}
_NAME = {**_TEXT, "description": "The tool's name, as server__tool"}


class Listed(Tool):
    """A tool of a list; calls are answered elsewhere."""

    def to_mcp_tool(self, **overrides: Any) -> mcp_types.Tool:
        """Return the protocol's tool, without what the library would add to its `_meta`."""
        return super().to_mcp_tool(**{"_meta": self.meta, **overrides})


def own_tools(max_risk: Risk) -> list[Tool]:
    """Return the gateway's own tools.

    `call_tool` is annotated with the worst that it may do.
    """
    return [
        _tool(
            SEARCH,
            "Find tools for a task. Returns names and what they do, best first.",
            ["query"],
            query={**_TEXT, "description": "The task in a few words, or a tool's name"},
            namespace={**_TEXT, "description": "Only tools of this server"},
            domain={**_TEXT, "description": "Only tools of this field, such as git or email"},
            max_results={
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_RESULTS,
                "default": DEFAULT_RESULTS,
            },
        ),
        _tool(
            INFO,
            "Everything about one tool: description, input schema, risk.",
            ["name"],
            name=_NAME,
        ),
        _tool(
            CALL,
            "Call a tool that search_tools found. Read tool_info first for its arguments.",
            ["name"],
            mcp_types.ToolAnnotations(
                read_only_hint=max_risk == "read_only",
                destructive_hint=max_risk == "destructive",
                open_world_hint=max_risk in ("write_remote", "destructive"),
            ),
            name=_NAME,
            arguments={"type": "object", "description": "As its input schema says"},
            token={**_TEXT, "description": "From tool_info, if that has one"},
        ),
        _tool(
            LIST,
            "List all tools by name, a page at a time. Prefer search_tools.",
            [],
            cursor={**_TEXT, "description": "next_cursor of the page before"},
            page_size={
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_PAGE_SIZE,
                "default": PAGE_SIZE,
            },
        ),
        _tool(
            KEYS,
            "Which keys a tool's server was given: names of variables and headers, no values.",
            ["name"],
            name=_NAME,
        ),
    ]


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
            meta=one.tool.meta,
        )
        for one in offered
    ]


def instructions(config: Config) -> str:
    """Return what a host tells its model of the gateway."""
    names = list(config.servers)
    listed = ", ".join(names[:MAX_NAMED_SERVERS]) + (
        ", …" if len(names) > MAX_NAMED_SERVERS else ""
    )
    return (
        f"Tools of these servers are behind search_tools: {listed}. Search with the task in a few "
        "words, read tool_info of the tool you choose, then call it with call_tool. Never guess a "
        "name or an argument. Tools that write elsewhere or destroy something need the token that "
        "tool_info shows; ask before you call one that needs confirmation. If a search finds "
        "nothing, try other words before you say it cannot be done."
    )


def _tool(
    name: str,
    description: str,
    required: Sequence[str],
    hints: mcp_types.ToolAnnotations | None = None,
    /,
    **properties: Any,
) -> Tool:
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    harmless = mcp_types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return Listed(
        name=name, description=description, parameters=schema, annotations=hints or harmless
    )
