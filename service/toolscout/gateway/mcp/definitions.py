"""What the gateway offers of its own: tools, prompts and instructions, as hosts list them."""

from collections.abc import Iterable, Iterator, Mapping

import mcp_types

from toolscout.gateway.mcp.listing import ALWAYS_LOAD
from toolscout.gateway.mcp.servers import Config
from toolscout.gateway.mcp.tools import CALL, CALL_WRITE, CALLS, META_TOOLS, CallTool, ServerTools
from toolscout.gateway.mcp.view import HostSession, View
from toolscout.metatools.answers import find_tool
from toolscout.metatools.arguments import Arguments, schema_of

MAX_NAMED_SERVERS = 20

RARE = ("list_tools_meta", "get_required_keys_for_tool", "tool_info", "get_tool_schemas")
"""Meta-tools that are answered, but listed with `--all-meta-tools` only."""

ALWAYS = {ALWAYS_LOAD: True}
"""Tells Claude Code not to defer a tool behind its own search: two would be needed."""

MAX_SEARCH_CHARS = 300
"""Characters of the description of `search_tools`: hosts show it to a model in every turn."""

HOW_TO_CALL = "Call it with call_tool if it only reads, else with call_tool_write."

DISCOVER = (
    "1. Call search_tools with the task in a few words. The best tool is shown whole, with its "
    "input schema, others in a line each.\n"
    "2. If another than the best one fits, and its line lacks the type of what you send, call "
    "search_tools with its name in names to see it whole.\n"
    f"3. {HOW_TO_CALL} If the tool has a token, repeat it in the call.\n"
    "4. If nothing fits, search in other words; toolscout://overview says what there is."
)


_TASK = mcp_types.PromptArgument(name="task", description="What you want to do", required=True)

OWN_PROMPTS = {
    name: mcp_types.Prompt(name=name, title=title, description=about, arguments=arguments)
    for name, title, about, *arguments in (
        ("discover", "How to find tools", "How to find and call tools step by step"),
        (
            "find_tool",
            "Find a tool",
            "Search a tool for a task, and show how to call the best one",
            _TASK,
        ),
        (
            "backend_status",
            "Status of the servers",
            "Which servers answer, and how many tools of each are offered",
        ),
    )
}
"""The gateway's own prompts, by their names."""


def list_own_tools(config: Config) -> list[mcp_types.Tool]:
    """Return the gateway's own tools.

    `search_tools` names the servers, for models do not call a search of nothing in particular;
    `call_tool_write` is annotated with the worst that it may do, and left out if that is to read.
    """
    options = config.options
    harmless = mcp_types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    reads = mcp_types.ToolAnnotations(read_only_hint=True, open_world_hint=True)
    writes = mcp_types.ToolAnnotations(
        read_only_hint=False,
        destructive_hint=options.max_risk == "destructive",
        open_world_hint=options.max_risk in ("write_remote", "destructive"),
    )
    search = META_TOOLS["search_tools"]
    about = _add_servers(search.description, config.servers)
    rows: list[tuple[str, str, type[Arguments], mcp_types.ToolAnnotations]] = [
        (search.name, about, search.arguments, harmless),
        (CALL, CALLS[CALL], CallTool, reads),
    ]
    if options.max_risk != "read_only":
        rows.append((CALL_WRITE, CALLS[CALL_WRITE], CallTool, writes))
    rare = [META_TOOLS[name] for name in RARE if options.all_meta_tools]
    rows += [(one.name, one.description, one.arguments, harmless) for one in rare]
    return [
        mcp_types.Tool(
            name=name,
            title=name.replace("_", " ").title(),
            description=description,
            input_schema=schema_of(arguments),
            annotations=hints,
            _meta=ALWAYS,
        )
        for name, description, arguments, hints in rows
    ]


def list_pinned_tools(view: View, *, is_modern: bool) -> Iterator[mcp_types.Tool]:
    """Yield tools of servers as themselves, under their whole names.

    A host refuses a result without the structured content that an output schema promises, so where
    results may be cut there is no such schema. Older hosts know structured content as objects only.
    """
    for one in view.pinned:
        meta = {**(one.tool.meta or {}), **ALWAYS}
        schema = one.rename_keys().definition["input_schema"]
        changes = {"name": one.shown["name"], "meta": meta, "execution": None}
        changes["input_schema"] = schema
        is_object = (one.tool.output_schema or {}).get("type") == "object"
        if view.max_chars(one.connection) or not (is_modern or is_object):
            changes["output_schema"] = None
        yield one.tool.model_copy(update=changes)


def _add_servers(description: str, names: Iterable[str]) -> str:
    """Add the names of servers to a description, as many as fit."""
    listed = ""
    end = " The only way to tools of: "
    for name in names:
        longer = f"{listed}, {name}" if listed else name
        if len(description) + len(end) + len(longer) + len(", ….") > MAX_SEARCH_CHARS:
            return f"{description}{end}{listed}, …." if listed else description
        listed = longer
    return f"{description}{end}{listed}." if listed else description


def write_instructions(config: Config) -> str:
    """Return what a host tells its model of the gateway; `search_tools` has the rest."""
    names = list(config.servers)
    servers = ""
    named = _add_servers(META_TOOLS["search_tools"].description, names)
    if names and not named.endswith(f" {names[-1]}."):
        more = ", …" if len(names) > MAX_NAMED_SERVERS else ""
        servers = f"search_tools finds the tools of {', '.join(names[:MAX_NAMED_SERVERS])}{more}. "
    return (
        f"{servers}Never guess a tool's name or arguments. Ask before you call one that needs "
        "confirmation. Search in other words before you say it cannot be done."
    )


async def get_prompt(
    view: View, name: str, arguments: Mapping[str, str]
) -> mcp_types.GetPromptResult | None:
    """Return what one of the gateway's own prompts says; None if it has none of this name.

    Raises:
        CallError: there is no task to find a tool for.
    """
    if name not in OWN_PROMPTS:
        return None
    if name == "discover":
        text = f"{DISCOVER}\n{write_instructions(view.config)}"
    elif name == "find_tool":
        await view.ready.wait()
        tools = ServerTools(view, HostSession(view))
        text = await find_tool(tools, arguments.get("task"), HOW_TO_CALL)
    else:
        await view.ready.wait()
        text = "\n".join(view.status())
    content = mcp_types.TextContent(type="text", text=text)
    message = mcp_types.PromptMessage(role="user", content=content)
    return mcp_types.GetPromptResult(description=OWN_PROMPTS[name].description, messages=[message])
