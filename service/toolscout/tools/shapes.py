"""All shapes of tools, and how to find the parts of each.

OpenAI (chat and Responses), Anthropic, MCP, Gemini, Bedrock and the contract's own, as mappings,
dataclasses, msgspec structs or pydantic models; LangChain's, the OpenAI Agents SDK's and
pydantic-ai's tools by their schema attributes, fastmcp's as it lists them.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from toolscout.contract.fields import Risk
from toolscout.contract.tools import Tool
from toolscout.errors import InvalidTool

SUPPORTED = "OpenAI (chat or Responses), Anthropic, MCP, Gemini, Bedrock, or name and description"

WRAPPERS = ("function", "toolSpec", "tool")
"""Keys under which a provider nests the part that carries name, description and schema."""

SCHEMAS = (
    "parameters",
    "input_schema",
    "inputSchema",
    "argument_schema",
    "parametersJsonSchema",
    "parameters_json_schema",
)
"""Keys of the JSON Schema of a tool's input."""

OUTPUT_SCHEMAS = ("outputSchema", "output_schema", "responseJsonSchema", "response_json_schema")
"""Keys of the JSON Schema of what a tool returns."""

INPUT_EXAMPLES = ("input_examples", "inputExamples")
"""Keys of examples of a tool's input."""

DECLARATIONS = ("functionDeclarations", "function_declarations")
"""Keys under which one tool of Gemini declares several functions."""

LISTS = ("tools", "toolConfig", "result", *DECLARATIONS)
"""Keys of the tools in a request, a file, or an answer to MCP's `tools/list`."""

ORDINARY_TYPES = frozenset({None, "function"})
"""Values of `type` that a function may have; `custom` has different meanings for Anthropic and
OpenAI."""

_CARRIED_SCHEMAS = ("params_json_schema", "parameters_json_schema", "args_schema")
"""Schema attributes of the OpenAI Agents SDK, of pydantic-ai, and of LangChain and CrewAI."""

_DECLARING = frozenset(DECLARATIONS)

_STRICTNESS = {"risk": get_args(Risk), "status": ("available", "unavailable")}
"""Values of fields that restrict what a tool is offered for, the strictest last."""

_OF_CALLERS = frozenset(Tool.__struct_fields__).difference(
    ("name", "description", "definition", "parameters")
)
"""Fields of an entry, such as its risk, that hold for each function that it declares."""

_DESCRIBING = frozenset((*Tool.__struct_fields__, *WRAPPERS, *SCHEMAS, *DECLARATIONS, "properties"))


def as_mapping(tool: Any, path: str = "tools[0]") -> Mapping[str, Any]:
    """Return a tool as a mapping, without copying one.

    Raises:
        InvalidTool: it is neither a mapping, a dataclass, a struct, a pydantic model nor a tool of
            a known framework, and has not the attributes `name` and `description`.
    """
    if isinstance(tool, Mapping):
        return tool
    try:
        fields = None
        if not isinstance(tool, type):
            fields = _read_framework_tool(tool) or _dump(tool) or _read_attributes(tool)
    except Exception as error:
        raise InvalidTool(f"{path}: cannot be read ({type(error).__name__})") from error
    if isinstance(fields, dict):
        return fields
    raise InvalidTool.of(path, "a mapping, dataclass or model", tool)


def is_declaring(tool: Any) -> bool:
    """Whether an entry declares functions, as Gemini's tools do."""
    return isinstance(tool, Mapping) and not _DECLARING.isdisjoint(_unfold(tool))


def unfold_declared(tool: Any, path: str = "tools[0]") -> tuple[list[Any], dict[str, Any]]:
    """Return the functions that a tool declares, as Gemini's do, and its other keys.

    They may also stand in the definition of an entry without a name. What a caller adds to an
    entry holds for each of its functions. Any other tool is returned as its only function.

    Raises:
        InvalidTool: its declarations are no list.
    """
    if not is_declaring(tool):
        return [tool], {}
    fields = _unfold(tool)
    declarations: list[Any] = []
    for key in DECLARATIONS:
        functions = fields.get(key)
        if functions is None:
            continue
        if not isinstance(functions, list | tuple):
            raise InvalidTool.of(f"{path}.{key}", "a list", functions)
        declarations += functions
    added = {key: fields[key] for key in _OF_CALLERS & fields.keys() if fields[key] is not None}
    rest = {key: value for key, value in fields.items() if key not in _DECLARING | added.keys()}
    if added:
        declarations = [
            _add_fields(one, added) if isinstance(one, Mapping) else one for one in declarations
        ]
    return declarations, rest


def _add_fields(function: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """Return a function with the fields of its entry; of two that restrict, the stricter counts."""
    own = {key: value for key, value in function.items() if value is not None}
    both = {**added, **own}
    for key, strictest_last in _STRICTNESS.items():
        values = [fields[key] for fields in (added, own) if key in fields]
        if len(values) > 1 and all(value in strictest_last for value in values):
            both[key] = max(values, key=strictest_last.index)
    return both


def _unfold(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an entry without a name together with its definition, if that declares functions."""
    definition = tool.get("definition")
    if tool.get("name") or not isinstance(definition, Mapping) or _DECLARING.isdisjoint(definition):
        return tool
    beside = {key: value for key, value in tool.items() if key != "definition" and value}
    return {**definition, **beside}


def core_of(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of a tool that carries its description and schema."""
    parts = [part for key in WRAPPERS if isinstance(part := tool.get(key), Mapping)]
    named = (part for part in parts if text_of(part.get("name")))
    return next(named, parts[0] if parts else tool)


def name_of(tool: Mapping[str, Any]) -> str:
    """Return the name of a tool, or ""; a top-level name takes precedence over a wrapped one."""
    return text_of(tool.get("name")) or text_of(core_of(tool).get("name"))


def read_texts(tool: Any) -> tuple[str, str]:
    """Return name and description of a tool, "" if absent."""
    fields = as_mapping(tool)
    return name_of(fields), text_of(core_of(fields).get("description"))


def schema_of(tool: Any) -> Mapping[str, Any]:
    """Return the JSON Schema of a tool's input, empty if absent."""
    core = core_of(as_mapping(tool))
    for key in SCHEMAS:
        schema = core.get(key)
        if isinstance(schema, Mapping):
            nested = schema.get("json")  # Bedrock's extra level
            return nested if isinstance(nested, Mapping) else schema
    return {}


def is_run_by_provider(tool: Mapping[str, Any]) -> bool:
    """Whether a tool with a name is run by the provider, or takes no arguments by a schema.

    Anthropic's `{"type": "bash_20250124", "name": "bash"}`; of OpenAI's Responses also
    `{"type": "custom", "name": …}`, which takes free text, unlike Anthropic's type of that name.
    """
    kind = tool.get("type")
    if not isinstance(kind, str) or kind in ORDINARY_TYPES or core_of(tool) is not tool:
        return False
    return not any(isinstance(tool.get(key), Mapping) for key in SCHEMAS)


def is_nameless_builtin(tool: Mapping[str, Any]) -> bool:
    """Whether an entry without a name is a provider's built-in, not an incomplete tool.

    `{"type": "web_search"}`, `{"googleSearch": {}}`, `{"cachePoint": {"type": "default"}}`.
    """
    if not tool or not _DESCRIBING.isdisjoint(tool):
        return False
    kind = tool.get("type")
    if isinstance(kind, str):
        return kind not in ORDINARY_TYPES
    return all(isinstance(value, Mapping) for value in tool.values())


def text_of(value: Any) -> str:
    """Return a value if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def _read_framework_tool(tool: Any) -> dict[str, Any] | None:
    """Read a framework's tool by its schema attribute, without its Python objects."""
    listed = getattr(tool, "to_mcp_tool", None)  # fastmcp's `Tool`
    if callable(listed):
        fields: dict[str, Any] = _dump(listed())
        return fields
    definition = getattr(tool, "tool_def", None)  # pydantic-ai's `Tool`
    for key in _CARRIED_SCHEMAS:
        schema = getattr(tool if definition is None else definition, key, None)
        make_schema = getattr(schema, "model_json_schema", None)
        if make_schema is not None:
            schema = make_schema()
        if isinstance(schema, Mapping):
            about = {key: getattr(tool, key, None) for key in ("name", "description")}
            return {**about, "parameters": schema}
    return None


def _read_attributes(tool: Any) -> dict[str, Any] | None:
    """Read any object with a name and a description, and with a schema if it has one."""
    about = {key: getattr(tool, key, None) for key in ("name", *SCHEMAS)}
    if not text_of(about["name"]) or not hasattr(tool, "description"):
        return None
    schemas = {key: value for key, value in about.items() if isinstance(value, Mapping)}
    return {"name": about["name"], "description": tool.description, **schemas}


def _dump(tool: Any) -> Any:
    if dataclasses.is_dataclass(tool):
        return dataclasses.asdict(tool)  # type: ignore[arg-type]  # an instance, no class
    if isinstance(tool, msgspec.Struct):
        return msgspec.to_builtins(tool)
    dump = getattr(tool, "model_dump", None)
    # As in JSON requests: aliases (`inputSchema`), no nulls.
    return dump(mode="json", by_alias=True, exclude_none=True) if callable(dump) else None
