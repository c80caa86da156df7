"""The arguments of the tools that the MCP facade offers."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from toolscout.contract.fields import Detail
from toolscout.errors import wrong_field
from toolscout.server.calls.catalog_reads import MAX_PAGE_SIZE, PAGE_SIZE
from toolscout.server.mcp.schemas import schema_of

TOP_K = 10
MAX_TOP_K = 100
MAX_SCHEMAS = 20
_MAX_SHOWN = 100
"""Characters of a message, because it may repeat the name of an unknown argument."""

_REF = "#/$defs/{name}"
_INVALID_CHOICE = "Invalid enum value"
_TEXT = Meta(extra_json_schema={"type": "string"})

ToolName = Annotated[str, Meta(min_length=1, description="A tool's name in any spelling")]


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every tool takes."""

    catalog: (
        Annotated[
            str,
            Meta(description="Name or digest of the catalog; may be left out where there is one"),
        ]
        | UnsetType
    ) = UNSET


class SearchTools(Arguments, frozen=True, kw_only=True):
    """The arguments of `search_tools`."""

    query: Annotated[str, Meta(min_length=1, description="What you want to do")]
    top_k: Annotated[int, Meta(ge=1, le=MAX_TOP_K)] = TOP_K
    detail: Annotated[Detail, _TEXT] = "brief"


class ListToolsMeta(Arguments, frozen=True, kw_only=True):
    """The arguments of `list_tools_meta`."""

    cursor: Annotated[str, Meta(description="next_cursor of the page before")] | UnsetType = UNSET
    page_size: Annotated[int, Meta(ge=1, le=MAX_PAGE_SIZE)] = PAGE_SIZE
    detail: Annotated[Detail, _TEXT] = "brief"


class ToolInfo(Arguments, frozen=True, kw_only=True):
    """The arguments of `tool_info`."""

    name: ToolName
    detail: Annotated[Literal["brief", "full"], _TEXT] = "brief"


class GetToolSchemas(Arguments, frozen=True, kw_only=True):
    """The arguments of `get_tool_schemas`."""

    names: Annotated[list[ToolName], Meta(min_length=1, max_length=MAX_SCHEMAS)]


class GetRequiredKeys(Arguments, frozen=True, kw_only=True):
    """The arguments of `get_required_keys_for_tool`."""

    name: ToolName


def read_arguments(kind: type[Arguments], given: dict[str, Any] | None) -> Any:
    """Decode the arguments of a call; whole numbers may be written as 5.0.

    Raises:
        ValueError: they do not fit the schema; the message names the argument.
    """
    try:
        return msgspec.convert(given or {}, kind, strict=False)
    except msgspec.ValidationError as error:
        wrong = wrong_field("", error)
        where, message = wrong.path, wrong.message[:_MAX_SHOWN]
        if message == _INVALID_CHOICE:
            message = f"Expected one of {', '.join(schema_of(kind)['properties'][where]['enum'])}"
        raise ValueError(f"{'arguments' if where == 'body' else where}: {message}") from None
