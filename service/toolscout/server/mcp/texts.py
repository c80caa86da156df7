"""Texts of the MCP facade for models: instructions, tools, prompts, resources."""

from typing import Any

from mcp import types

INSTRUCTIONS = """Toolscout finds tools; it never runs them. Look before you load:
1. search_tools with what you want to do: names and one line each.
2. tool_info with detail "full" for the schema of the one you call; "brief" tells the parameters,
   where several may fit. get_tool_schemas reads several at once.
3. list_tools_meta pages through everything, when a search finds nothing.
Call the tool itself where it lives. Before that, get_required_keys_for_tool says which keys it
needs."""

_CATALOG = {
    "type": "string",
    "description": "Name or digest of the catalog; may be left out where there is only one",
}


def _tool(title: str, description: str, required: list[str], **properties: Any) -> types.Tool:
    schema = {
        "type": "object",
        "properties": {**properties, "catalog": _CATALOG},
        "required": required,
        "additionalProperties": False,
    }
    hints = types.ToolAnnotations(readOnlyHint=True, openWorldHint=False)
    return types.Tool(name=title, description=description, inputSchema=schema, annotations=hints)


def _levels(*names: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(names), "default": "brief"}


_NAME = {"type": "string", "minLength": 1, "description": "A tool's name in any spelling"}

TOOLS = [
    _tool(
        "search_tools",
        "Find tools by what they do, by name, or by a regular expression.",
        ["query"],
        query={"type": "string", "minLength": 1, "description": "What you want to do"},
        top_k={"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
        detail=_levels("names", "brief", "full"),
    ),
    _tool(
        "list_tools_meta",
        "Page through all tools in the order of their names.",
        [],
        cursor={"type": "string", "description": "next_cursor of the page before"},
        page_size={"type": "integer", "minimum": 1, "maximum": 1_000, "default": 50},
        detail=_levels("names", "brief", "full"),
    ),
    _tool(
        "tool_info",
        "One tool: in brief its parameters, risk and how its calls went, in full its schema too.",
        ["name"],
        name=_NAME,
        detail=_levels("brief", "full"),
    ),
    _tool(
        "get_tool_schemas",
        "Several tools whole, and for names that do not exist those they may have meant.",
        ["names"],
        names={"type": "array", "items": _NAME, "minItems": 1, "maxItems": 20},
    ),
    _tool(
        "get_required_keys_for_tool", "Which keys a tool needs to be called.", ["name"], name=_NAME
    ),
]

PROMPTS = [
    types.Prompt(name="discover", description="How to find and load tools step by step"),
    types.Prompt(
        name="find_tool",
        description="Find the tool for a task",
        arguments=[types.PromptArgument(name="task", description="The task", required=True)],
    ),
    types.Prompt(name="backend_status", description="Which catalogs and tools there are"),
]

TEMPLATES = [
    types.ResourceTemplate(
        name=name, uriTemplate=f"toolscout://{path}", description=description, mimeType=media
    )
    for name, path, description, media in (
        ("overview", "{catalog}/overview", "A catalog in 500 tokens", "text/plain"),
        ("index", "{catalog}/index", "Every tool in a line", "text/plain"),
        ("tool", "{catalog}/tool/{name}", "One tool whole", "application/json"),
    )
]


def find_tool(task: str) -> str:
    """Return the prompt that asks for the tool of a task."""
    return (
        f"Find the tool for this task: {task}\n\nCall search_tools with a short description of "
        'it, then tool_info with detail "full" for the best one. Say so if none fits.'
    )
