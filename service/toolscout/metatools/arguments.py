"""The arguments of the meta-tools: their JSON Schemas, and how a model's arguments are read."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args

import msgspec
from msgspec import UNSET, Meta, UnsetType

from toolscout.contract.bounds import MAX_NAME_CHARS, MAX_PAGE_SIZE, PAGE_SIZE
from toolscout.contract.fields import DEFAULT_TOP_K, Level
from toolscout.contract.requests import Filters
from toolscout.errors import UNKNOWN_KEY, wrong_field

MAX_TOP_K = 100
MAX_SCHEMAS = 20
"""Most schemas in one answer; each may have thousands of tokens."""

ALIASES = {
    "max_results": ("top_k",),
    "limit": ("top_k", "page_size"),
    "task_description": ("query",),
    "tool_name": ("name",),
    "tool_names": ("names",),
    "brief": ("detail",),
}
"""Names of arguments in other systems, each with ours of which a tool has one at most.

They are read and not advertised.
"""

MIN_SIMILARITY = 0.7
"""Likeness of two names, of 0 to 1, from which one is taken for a slip of the other."""

_MAX_SHOWN = 100
"""Characters of a message, because it may repeat the name of an unknown argument."""

_BOUNDS = ("minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum")
"""Keywords that are checked and not told: every model would read them, and few send so much."""

_REF = "#/$defs/{name}"
_NULL = {"type": "null"}
_INVALID_CHOICE = "Invalid enum value"
_TEXT = Meta(extra_json_schema={"type": "string"})

TopK = Annotated[int, Meta(ge=1, le=MAX_TOP_K)]
Text = Annotated[str, Meta(max_length=MAX_NAME_CHARS)]
ToolName = Annotated[Text, Meta(min_length=1, description="A tool's name in any spelling")]


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of one tool."""

    CHOOSES_DETAIL: ClassVar[bool] = False
    """Whether the tool itself decides how much it shows: then `detail` is read without effect."""

    @classmethod
    def prepare(cls, written: dict[str, Any]) -> dict[str, Any]:
        """Change arguments before they are decoded."""
        return written


class Filtered(Arguments, frozen=True, kw_only=True):
    """Arguments that choose among all tools."""

    namespace: Annotated[Text, Meta(description="Only tools of this server")] | UnsetType = UNSET
    domain: (
        Annotated[Text, Meta(description="Only tools of this field, such as repo or comms")]
        | UnsetType
    ) = UNSET
    detail: Annotated[Level, _TEXT] = "brief"

    @property
    def filters(self) -> Filters | None:
        """Return the filters of a search; None if there are none."""
        namespaces = (self.namespace,) if self.namespace else None
        domains = (self.domain,) if self.domain else None
        return Filters(namespaces, domains) if namespaces or domains else None


class SearchTools(Filtered, frozen=True, kw_only=True):
    """The arguments of `search_tools`."""

    query: Annotated[
        str, Meta(min_length=1, description="The task in a few words, or a tool's name")
    ]
    top_k: TopK = DEFAULT_TOP_K

    def __post_init__(self) -> None:
        if not self.query.strip():
            raise ValueError("`query` is blank")


class ListToolsMeta(Filtered, frozen=True, kw_only=True):
    """The arguments of `list_tools_meta`."""

    cursor: Annotated[str, Meta(description="next_cursor of the page before")] | UnsetType = UNSET
    page_size: Annotated[int, Meta(ge=1, le=MAX_PAGE_SIZE)] = PAGE_SIZE


class GetRequiredKeys(Arguments, frozen=True, kw_only=True):
    """The arguments of `get_required_keys_for_tool`."""

    name: ToolName


class ToolInfo(GetRequiredKeys, frozen=True, kw_only=True):
    """The arguments of `tool_info`."""

    detail: Annotated[Literal["brief", "full"], _TEXT] = "brief"


class GetToolSchemas(Arguments, frozen=True, kw_only=True):
    """The arguments of `get_tool_schemas`."""

    names: Annotated[list[ToolName], Meta(min_length=1, max_length=MAX_SCHEMAS)]


class CallError(ValueError):
    """What is wrong with a call, in words for the model."""


A = TypeVar("A", bound=Arguments)


def read_arguments(kind: type[A], arguments: Mapping[str, Any] | None) -> A:
    """Decode the arguments of a call, in which null is as good as nothing, and 5.0 as 5.

    Raises:
        CallError: they do not fit the schema; the message names the argument.
    """
    written = {name: value for name, value in (arguments or {}).items() if value is not None}
    fields = kind.__struct_fields__ + (("detail",) if kind.CHOOSES_DETAIL else ())
    for alias in ALIASES:
        if alias in written and alias not in fields:
            _rename(written, alias, fields)
    if kind.CHOOSES_DETAIL and written.pop("detail", "brief") not in get_args(Level):
        raise CallError(f"detail: expected one of {', '.join(get_args(Level))}")
    try:
        return msgspec.convert(kind.prepare(written), kind, strict=False)
    except msgspec.ValidationError as error:
        wrong = wrong_field("", error)
        unknown = UNKNOWN_KEY.search(str(error))
    where = wrong.path
    message = wrong.message[:_MAX_SHOWN]
    if unknown:
        near = _find_nearest(unknown[1], kind.__struct_fields__)
        guess = f" did you mean {near}?" if near else ""
        message += f";{guess} known are {', '.join(kind.__struct_fields__)}"
    if message == _INVALID_CHOICE:
        message = f"expected one of {', '.join(schema_of(kind)['properties'][where]['enum'])}"
    raise CallError(f"{'arguments' if where == 'body' else where}: {message}")


def _find_nearest(written: str, fields: Collection[str]) -> str | None:
    """Return the argument with a name, here or in other systems, that is like a written one."""
    arguments = {name: name for name in fields}
    arguments |= {alias: name for alias in ALIASES if (name := _find_meant(alias, fields))}
    near = get_close_matches(written[:_MAX_SHOWN], arguments, 1, MIN_SIMILARITY)
    return arguments[near[0]] if near else None


def _find_meant(alias: str, fields: Collection[str]) -> str | None:
    """Return the argument that an alias stands for, if there is one."""
    return next((name for name in ALIASES[alias] if name in fields), None)


def _rename(written: dict[str, Any], alias: str, fields: Collection[str]) -> None:
    """Replace an alias by the argument that it stands for, if there is one."""
    name = _find_meant(alias, fields)
    if name is None:
        return
    value = written.pop(alias)
    if alias == "brief":
        if not isinstance(value, bool):
            raise CallError("brief: expected true or false")
        value = "brief" if value else "full"
    if written.setdefault(name, value) != value:
        raise CallError(f"{alias}: {name} says otherwise: give one")


def schema_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of a struct, with what it refers to in `$defs`."""
    _, parts = msgspec.json.schema_components([struct], ref_template=_REF)
    for part in parts.values():
        for key in ("title", "description"):  # a tool has its own
            part.pop(key, None)
        for field in part["properties"].values():
            for key in _BOUNDS:
                field.pop(key, None)
        if not part["required"]:
            del part["required"]
    schema: dict[str, Any] = parts.pop(struct.__name__)
    return schema | ({"$defs": parts} if parts else {})


def answer_schema(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of answers, in which fields are absent but never null.

    Raw JSON, which has an empty schema, is never answered.
    """
    schema = schema_of(struct)
    for part in (schema, *schema.get("$defs", {}).values()):
        part["properties"] = {
            name: _drop_null(field) for name, field in part["properties"].items() if field
        }
    return schema


def _drop_null(field: dict[str, Any]) -> dict[str, Any]:
    options = [option for option in field.get("anyOf", ()) if option != _NULL]
    return options[0] if len(options) == 1 else field
