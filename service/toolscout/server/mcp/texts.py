"""Texts of the MCP facade for models: instructions, tools, prompts, resources."""

from collections.abc import Sequence
from datetime import UTC, datetime

import mcp_types as types
import msgspec

from toolscout.contract.catalogs import SchemasAnswer, ToolPage
from toolscout.contract.tools import ToolDetail
from toolscout.server.mcp.answers import RequiredKeys, ToolsFound
from toolscout.server.mcp.arguments import (
    Arguments,
    GetRequiredKeys,
    GetToolSchemas,
    ListToolsMeta,
    SearchTools,
    ToolInfo,
)
from toolscout.server.mcp.schemas import answer_schema, schema_of
from toolscout.state.registry import Record

MAX_UNAVAILABLE = 20
"""Unavailable tools that the status of a catalog names."""

INSTRUCTIONS = """Toolscout finds tools; it never runs them. Look before you load:
1. search_tools with what you want to do: names and one line each.
2. tool_info with detail "full" for the schema of the one you call; "brief" tells the parameters,
   where several may fit. get_tool_schemas reads several at once.
3. list_tools_meta pages through everything, when a search finds nothing.
Call the tool itself where it lives. Before that, get_required_keys_for_tool says which keys it
needs."""


def _tool(
    name: str,
    title: str,
    description: str,
    arguments: type[Arguments],
    answer: type[msgspec.Struct],
) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return types.Tool(
        name=name,
        title=title,
        description=description,
        input_schema=schema_of(arguments),
        output_schema=answer_schema(answer),
        annotations=hints,
    )


TOOLS = [
    _tool(
        "search_tools",
        "Search tools",
        "Find tools by what they do, by name, or by a regular expression.",
        SearchTools,
        ToolsFound,
    ),
    _tool(
        "list_tools_meta",
        "List all tools",
        "Page through all tools in the order of their names.",
        ListToolsMeta,
        ToolPage,
    ),
    _tool(
        "tool_info",
        "Show one tool",
        "One tool: in brief its parameters, risk and how its calls went, in full its schema too.",
        ToolInfo,
        ToolDetail,
    ),
    _tool(
        "get_tool_schemas",
        "Show several tools",
        "Several tools whole, and for names that do not exist those they may have meant.",
        GetToolSchemas,
        SchemasAnswer,
    ),
    _tool(
        "get_required_keys_for_tool",
        "Keys of a tool",
        "Which keys a tool needs to be called.",
        GetRequiredKeys,
        RequiredKeys,
    ),
]

_CATALOG = types.PromptArgument(
    name="catalog", description="Name or digest of the catalog; needed where there are several"
)

PROMPTS = [
    types.Prompt(
        name="discover",
        title="How to find tools",
        description="How to find and load tools step by step",
    ),
    types.Prompt(
        name="find_tool",
        title="Find a tool",
        description="Search a tool for a task, and show how to call the best one",
        arguments=[
            types.PromptArgument(name="task", description="What you want to do", required=True),
            _CATALOG,
        ],
    ),
    types.Prompt(
        name="backend_status",
        title="Status of the catalogs",
        description="Which catalogs there are, their size, and which tools are unavailable",
        arguments=[types.PromptArgument(name="catalog", description="Only this catalog")],
    ),
]

TEMPLATES = [
    types.ResourceTemplate(
        name=name,
        title=title,
        uri_template=f"toolscout://{path}",
        description=description,
        mime_type=media,
    )
    for name, title, path, description, media in (
        (
            "overview",
            "Overview of a catalog",
            "{catalog}/overview",
            "A catalog in 500 tokens",
            "text/plain",
        ),
        ("index", "Index of a catalog", "{catalog}/index", "Every tool in a line", "text/plain"),
        ("tool", "A tool", "{catalog}/tool/{name}", "One tool whole", "application/json"),
    )
]


def status_line(name: str, record: Record, unavailable: Sequence[str]) -> str:
    """Return the state of a catalog in a line."""
    parts = [f"{name}: {record.tools} tools"]
    if unavailable:
        shown = ", ".join(unavailable[:MAX_UNAVAILABLE])
        more = ", …" if len(unavailable) > MAX_UNAVAILABLE else ""
        parts.append(f"{len(unavailable)} unavailable ({shown}{more})")
    if record.expires is not None:
        expires = datetime.fromtimestamp(record.expires, UTC)
        parts.append(f"expires {expires:%Y-%m-%dT%H:%M:%SZ}")
    return ", ".join(parts)
