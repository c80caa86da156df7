"""A tool as a model is shown it: by name, in brief, or whole; and what each costs in a prompt."""

from collections.abc import Iterable
from typing import Any, get_args

import msgspec

from toolscout.contract.fields import Detail, Risk, Stub, is_absent
from toolscout.contract.requests import Filters
from toolscout.contract.tools import Tool, ToolDetail
from toolscout.errors import NOT_JSON
from toolscout.index.source import Source
from toolscout.tools.documents import find_input_schema, find_output_schema, read_tool
from toolscout.tools.risk import LEVELS, requires_confirmation, requires_schema
from toolscout.tools.stubs import name_function, name_functions, write_stub
from toolscout.tools.summary import cut_first_sentence, estimate_text_tokens, estimate_tool_tokens
from toolscout.tools.traits import Traits

_encode = msgspec.json.Encoder().encode

LONGEST_NUMBER = "_99"
"""What is counted for the number of a function."""

_STUBS: dict[str | None, Stub] = {stub: stub for stub in get_args(Stub)}


def describe_tools(
    source: Source,
    rows: Iterable[int],
    level: Detail | None,
    definitions: bool = False,
    filters: Filters | None = None,
) -> list[ToolDetail]:
    """Return some tools at one level of detail; `definitions` adds what was sent of each.

    Signatures are shown of tools that only read, or of a risk up to that of `filters`. Each has
    another name.
    Inferring traits takes a third of the time, so it is done for these rows only, and for no names.
    """
    if level is None or level == "names":
        return [_show_name(source.tool(row), definitions) for row in rows]
    tools = [(_find_shown(source, row), source.traits(row)) for row in rows]
    if stub := _STUBS.get(level):
        names = name_functions([tool.name for tool, _ in tools], stub)
        return [
            _show_stub(tool, traits, name, stub, filters, definitions)
            for (tool, traits), name in zip(tools, names, strict=True)
        ]
    return [describe_tool(tool, traits, level, definitions) for tool, traits in tools]


def _find_shown(source: Source, row: int) -> Tool:
    """Return a tool as it was sent; one that the operator hides is unavailable."""
    tool = source.tool(row)
    adjusted = source.adjusted.tools.get(row)
    is_hidden = adjusted is not None and adjusted.is_hidden
    return msgspec.structs.replace(tool, status="unavailable") if is_hidden else tool


def describe_tool(
    tool: Tool, traits: Traits, detail: Detail, definitions: bool = False
) -> ToolDetail:
    """Return a tool in brief or whole; `definitions` adds its definition as it was sent."""
    description, schema = _read(tool)
    summary = cut_first_sentence(description)
    parameters = _describe_parameters(schema)
    full = detail == "full"
    return ToolDetail(
        name=tool.name,
        summary=summary,
        parameters=list(parameters),
        required=_list_required(parameters) or None,
        description=description if full else None,
        input_schema=schema if full else None,
        status="unavailable" if tool.status == "unavailable" else None,
        risk=traits.risk,
        requires_full_schema=requires_schema(traits.risk) or None,
        requires_confirmation=requires_confirmation(traits.risk) or None,
        namespace=traits.namespace or None,
        domain=traits.shown_domain or None,
        tags=traits.tags or None,
        source=traits.source or None,
        capabilities=tool.capabilities or None,
        required_keys=tool.required_keys or None,
        tokens_brief=_count_brief_tokens(tool.name, summary, parameters),
        tokens_full=estimate_tool_tokens(tool),
        definition=_read_definition(tool) if definitions else msgspec.UNSET,
    )


def _show_name(tool: Tool, definitions: bool) -> ToolDetail:
    return ToolDetail(
        tool.name, definition=_read_definition(tool) if definitions else msgspec.UNSET
    )


def _has_stub(risk: Risk, filters: Filters | None) -> bool:
    """Whether a tool of some risk is shown with its signature."""
    limit = (filters and filters.max_risk) or "read_only"
    return LEVELS.index(risk) <= LEVELS.index(limit)


def _show_stub(
    tool: Tool,
    traits: Traits,
    name: str,
    stub: Stub,
    filters: Filters | None,
    definitions: bool,
) -> ToolDetail:
    """Return a tool with its signature, without one if its risk is above that of `filters`."""
    description, schema = _read(tool, unreadable={})
    is_shown = _has_stub(traits.risk, filters)
    text = None
    if is_shown:
        text = write_stub(name, description, schema, find_output_schema(tool), stub)
    return ToolDetail(
        tool.name,
        summary=cut_first_sentence(description),
        status="unavailable" if tool.status == "unavailable" else None,
        risk=traits.risk,
        requires_confirmation=requires_confirmation(traits.risk) or None,
        stub=text,
        tokens_stub=None if text is None else estimate_text_tokens(text),
        tokens_full=estimate_tool_tokens(tool),
        definition=_read_definition(tool) if definitions else msgspec.UNSET,
    )


def count_shown_cost(
    source: Source, row: int, level: Detail | None, definitions: bool, filters: Filters | None
) -> int:
    """Prompt tokens of a tool as `describe_tools` shows it, or without its signature."""
    tool = source.tool(row)
    if level not in _STUBS or definitions or _has_stub(source.traits(row).risk, filters):
        return count_cost(tool, level, definitions)
    return estimate_text_tokens(f"{tool.name} {cut_first_sentence(_read(tool)[0])}".rstrip())


def count_cost(tool: Tool, detail: Detail | None, definitions: bool = False) -> int:
    """Prompt tokens of a tool at one level of detail; whole where none is named."""
    if (stub := _STUBS.get(detail)) and not definitions:
        name = name_function(tool.name, stub)
        if name != tool.name:  # beside others it may get a number
            name += LONGEST_NUMBER
        shown = _read(tool, unreadable={})
        return estimate_text_tokens(write_stub(name, *shown, find_output_schema(tool), stub))
    if definitions or detail not in ("names", "brief"):
        return estimate_tool_tokens(tool)
    if detail == "names":
        return estimate_text_tokens(tool.name)
    description, schema = _read(tool)
    return _count_brief_tokens(
        tool.name, cut_first_sentence(description), _describe_parameters(schema)
    )


def _read(
    tool: Tool, unreadable: dict[str, Any] | None = None
) -> tuple[str, dict[str, Any] | None]:
    """Return description and input schema; `unreadable` for what cannot be written as JSON.

    An empty schema allows everything.
    """
    try:
        schema = find_input_schema(tool)
        _encode([[[[[schema]]]]])  # it will lie a few levels down in an answer
        return read_tool(tool).plain_description, schema
    except NOT_JSON:
        return tool.description or "", unreadable


def _describe_parameters(schema: dict[str, Any] | None) -> dict[str, bool]:
    """Top-level parameters, those of `allOf` parts included, and whether each is required."""
    parameters: dict[str, bool] = {}
    for part in _list_parts(schema):
        properties = part.get("properties")
        required = part.get("required")
        names = required if isinstance(required, list) else []
        if isinstance(properties, dict):
            for name in properties:
                parameters[name] = parameters.get(name, False) or name in names
    return parameters


def _list_required(parameters: dict[str, bool]) -> list[str]:
    return [name for name, required in parameters.items() if required]


def _list_parts(schema: dict[str, Any] | None) -> Iterable[dict[str, Any]]:
    if schema is None:
        return
    yield schema
    parts = schema.get("allOf")
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, dict):
            yield part


def _count_brief_tokens(name: str, summary: str, parameters: dict[str, bool]) -> int:
    spelled = " ".join([*parameters, *_list_required(parameters)])
    return estimate_text_tokens(f"{name} {summary} {spelled}".rstrip())


def _read_definition(tool: Tool) -> msgspec.Raw | msgspec.UnsetType:
    """Return the definition, or the bare schema, as it was sent; nothing if it is no JSON."""
    raw = tool.parameters if is_absent(tool.definition) else tool.definition
    try:
        return msgspec.UNSET if is_absent(raw) or msgspec.json.decode(raw) is None else raw
    except NOT_JSON:
        return msgspec.UNSET
