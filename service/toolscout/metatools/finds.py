"""A search whose answer a model can call from: the best schema, others as far as they fit.

What does not fit is a line with the name and the parameters of a tool, with their types where a
call needs no more. So a second search, by `names`, is only needed where the right tool is none of
the best and takes more than texts and numbers.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Protocol

import msgspec
from msgspec import UNSET, Meta, UnsetType, structs

from toolscout.contract.bounds import MAX_NAME_CHARS
from toolscout.contract.catalogs import SchemaError
from toolscout.contract.fields import DEFAULT_TOP_K
from toolscout.metatools.answers import (
    ToolsFound,
    ToolSource,
    check_domain,
    list_parameters,
    list_schema_errors,
)
from toolscout.metatools.arguments import MAX_SCHEMAS, Arguments, SearchTools, Text, TopK
from toolscout.tools.file_entries import describe_file
from toolscout.tools.shapes import as_mapping, read_texts, schema_of
from toolscout.tools.summary import cut_first_sentence, estimate_text_tokens

SCHEMA_TOKENS = 200
"""Estimated tokens of an answer up to which tools after the best one are shown whole."""

VALUES = ("const", "default", "enum", "examples")
"""Keywords of a JSON Schema that hold values, not schemas."""

LINE_CHARS = 80
"""Characters of the sentence in a line."""

MAX_QUERIES = 5

PLAIN_TYPES = ("string", "integer", "number", "boolean")
SAYING_NO_MORE = frozenset(("type", "title", "description", "default", "examples"))
"""Types of JSON Schema that a line has, and the keys of a schema that bounds values no further."""

MAX_PARAMETERS = 8
"""Parameters in a line, the required ones first."""


class FindTools(Arguments, frozen=True, kw_only=True):
    """The arguments of `search_tools` where the answer has schemas."""

    CHOOSES_DETAIL: ClassVar[bool] = True

    query: Annotated[str, Meta(description="The task in a few words")] | UnsetType = UNSET
    queries: Annotated[list[str], Meta(min_length=1, max_length=MAX_QUERIES)] | UnsetType = UNSET
    names: (
        Annotated[
            list[str],
            Meta(min_length=1, max_length=MAX_SCHEMAS, description="Tools to show whole"),
        ]
        | UnsetType
    ) = UNSET
    namespace: Annotated[Text, Meta(description="Only this server")] | UnsetType = UNSET
    domain: Text | UnsetType = UNSET
    top_k: TopK = DEFAULT_TOP_K

    @classmethod
    def prepare(cls, written: dict[str, Any]) -> dict[str, Any]:
        """Take a list of questions under the name of one question for what it is."""
        if isinstance(written.get("query"), list) and "queries" not in written:
            written["queries"] = written.pop("query")
        return written

    def __post_init__(self) -> None:
        if max(map(len, self.names or ()), default=0) > MAX_NAME_CHARS:
            raise ValueError("`names` has one that is too long")
        if not (self.names or self.queries) and not (self.query or "").strip():
            raise ValueError("neither `query` nor `queries` nor `names`")
        if not all(map(str.strip, self.queries or ())):
            raise ValueError("`queries` has a blank one")


class ToolsRead(ToolsFound, frozen=True, omit_defaults=True, kw_only=True):
    """The answer of `search_tools` where it has schemas: the tools shown whole, best first."""

    more: Sequence[str] | None = None
    """The others in a line each, after the name of the tool that calls them."""
    errors: Sequence[SchemaError] | None = None
    """Names that mean no tool."""
    answers: "Mapping[str, ToolsRead] | None" = None
    """The answer to each of several queries; the answer itself then has no tools."""


class Schemas(ToolSource, Protocol):
    """Tools whose definitions can be looked at before they are shown."""

    def definition(self, name: str) -> Mapping[str, Any]:
        """Return a tool as it is listed."""

    def caller(self, name: str) -> str:
        """Return the name of the tool that calls it."""


async def search_tools(source: Schemas, arguments: FindTools) -> ToolsRead:
    """Find tools for a task: the best with its input schema, others in a line."""
    if arguments.names:
        answers = await source.resolve(list(dict.fromkeys(arguments.names)))
        names = dict.fromkeys(one.name for one in answers if one.name is not None)
        shown = await source.show(list(names), "full")
        return ToolsRead(tools=shown, errors=list_schema_errors(answers) or None)
    if arguments.queries:
        asked = [*dict.fromkeys([*filter(str.strip, [arguments.query or ""]), *arguments.queries])]
        each = [structs.replace(arguments, query=one, queries=UNSET) for one in asked]
        read = await asyncio.gather(*(search_tools(source, one) for one in each))
        return ToolsRead(tools=[], answers=dict(zip(asked, read, strict=True)))
    search = SearchTools(
        query=arguments.query or "",
        namespace=arguments.namespace,
        domain=arguments.domain,
        top_k=arguments.top_k,
        detail="names",
    )
    answer = await source.search(search)
    if not answer.tools:
        await check_domain(source, arguments.domain)
    names_found = [tool.name for tool in answer.tools]
    in_full = _choose_in_full(names_found, source)
    more = [
        f"{source.caller(name)} {write_signature(source.definition(name))}"
        for name in names_found
        if name not in in_full
    ]
    fields = {field: getattr(answer, field) for field in answer.__struct_fields__}
    if answer.outcome == "match":
        del fields["outcome"]  # what is found says so
    return ToolsRead(**fields | {"tools": await source.show(in_full, "full")}, more=more or None)


def _type_of(schema: Any) -> str:
    """Return what a line says of a parameter's type; nothing where its schema says more."""
    if not isinstance(schema, Mapping) or schema.keys() - SAYING_NO_MORE:
        return ""
    kind = schema.get("type")
    return f": {kind}" if kind in PLAIN_TYPES else ""


def _choose_in_full(names: Sequence[str], source: Schemas) -> list[str]:
    """Return the best name, and others whose definitions fit beside it."""
    left = SCHEMA_TOKENS
    chosen = []
    for place, name in enumerate(names):
        tool = source.definition(name)
        schema = msgspec.json.encode(drop_titles(schema_of(tool)), enc_hook=str).decode()
        size = estimate_text_tokens(read_texts(tool)[1] + schema)
        if place == 0 or size <= left:
            chosen.append(name)
            left -= size
    return chosen


def drop_titles(schema: Any) -> Any:
    """Return a JSON Schema without what generators add to it: titles, and its own version."""
    if isinstance(schema, list):
        return list(map(drop_titles, schema))
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: value if key in VALUES else drop_titles(value)
        for key, value in schema.items()
        if not (key in ("title", "$schema") and isinstance(value, str))
    }


def write_signature(tool: Any) -> str:
    """Return a tool in a line: its name, its parameters, the first sentence, the path of a file.

    Required parameters have their types, so that a tool which takes only texts and numbers can be
    called by its line.
    """
    name, description = read_texts(tool)
    listed, needed = list_parameters(tool)
    schemas = schema_of(tool).get("properties") or {}
    parameters = [f"{one}{_type_of(schemas.get(one))}" for one in needed]
    parameters += [f"{one}?" for one in listed if one not in needed]
    if len(parameters) > MAX_PARAMETERS:
        parameters[MAX_PARAMETERS:] = ["…"]
    sentence = cut_first_sentence(description, LINE_CHARS)
    entry = as_mapping(tool)
    about = describe_file(entry.get("tags"), entry.get("source"))
    end = f" [{about}]" if about else ""
    return f"{name}({', '.join(parameters)}){': ' if sentence else ''}{sentence}{end}"
