"""The OpenAPI document, made from the contract's structs and the error table.

Search endpoints read bytes, so no framework can see their types; this module describes the structs
that they decode with.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from inspect import cleandoc
from typing import Any, get_type_hints

import msgspec
import yaml

from toolscout import __version__
from toolscout.contract.bounds import BOUNDS, MAX_NAME_CHARS
from toolscout.contract.fields import ABSENT
from toolscout.contract.tools import Tool
from toolscout.server.http.problems import CODES, Problem
from toolscout.server.openapi.paths import REF, paths, ref
from toolscout.server.routes.table import ROUTES
from toolscout.tools.shapes import DECLARATIONS, WRAPPERS

_NAMED = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": MAX_NAME_CHARS},
        "description": {"type": ["string", "null"]},
    },
}


def provider_tool() -> dict[str, Any]:
    """Describe a tool with its name in a wrapper; others are `Tool` with a schema."""
    wrapped = [_holding(key, _NAMED) for key in WRAPPERS]
    declared = {"type": "array", "minItems": 1, "items": _NAMED}
    wrapped += [_holding(key, declared) for key in DECLARATIONS]
    return {
        "title": "ProviderTool",
        "description": "A tool as OpenAI chat (`function`), Bedrock (`toolSpec`) or Gemini "
        "(`functionDeclarations`) takes it. The shapes of OpenAI Responses, Anthropic "
        "(`input_schema`) and MCP (`inputSchema`, `title`) have a name of their own.",
        "anyOf": wrapped,
    }


def tools_answer(tools: dict[str, Any]) -> dict[str, Any]:
    """Return an answer to MCP's `tools/list`, whole or its result."""
    result = _holding("tools", tools)
    return {
        "title": "ToolsAnswer",
        "description": "An answer to MCP's `tools/list`, or its result.",
        "anyOf": [result, _holding("result", result)],
    }


def user_message() -> dict[str, Any]:
    """Describe the message that a conversation must have: a user's, with a text."""
    text = {"type": "string", "pattern": r"\S"}
    kind = {"type": ["string", "null"], "enum": ["text", "input_text", None]}
    part = {"type": "object", "required": ["text"], "properties": {"type": kind, "text": text}}
    content = {"anyOf": [text, {"type": "array", "items": {}, "contains": part}]}
    return {
        "type": "object",
        "required": ["role", "content"],
        "properties": {"role": {"const": "user"}, "content": content},
    }


def _holding(key: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": [key], "properties": {key: value}}


Schema = dict[str, Any]

FIRST = ("pattern", "query", "messages", "patterns", "tools", "catalog", "top_k", "max_tools")
"""Fields that stand before all others: what most requests have."""


@cache
def meanings() -> Mapping[str, str]:
    """Return what fields mean, by name, or by shape and name (`Tool.status`) where that differs."""
    return tomllib.loads(files(__package__).joinpath("fields.toml").read_text("utf-8"))


def finished(name: str, schema: Schema) -> Schema:
    """Return the schema of a shape with a description of every field.

    It has no defaults: generators take a field with one for a field that is always there.
    """
    properties = schema.get("properties")
    if properties is None:
        return schema
    known = meanings()
    order = sorted(properties, key=lambda field: FIRST.index(field) if field in FIRST else 99)
    described = {
        field: {
            **_opened(properties[field]),
            "description": known.get(f"{name}.{field}") or known[field],
        }
        for field in order
    }
    return {**schema, "properties": described}


def _opened(schema: Schema) -> Schema:
    """Let objects without known fields have any, which generators otherwise take for empty."""
    opened = {key: value for key, value in schema.items() if key != "default"}
    if opened.get("type") == "object" and not {"properties", "additionalProperties"} & set(opened):
        opened["additionalProperties"] = True
    for key in ("anyOf", "allOf", "oneOf"):
        if key in opened:
            opened[key] = [_opened(part) for part in opened[key]]
    for key in ("items", "additionalProperties"):
        if isinstance(opened.get(key), dict):
            opened[key] = _opened(opened[key])
    return opened


@cache
def document() -> dict[str, Any]:
    """Return the whole document; the same object at every call."""
    described = paths(ROUTES)
    operations = [operation for item in described.values() for operation in item.values()]
    statuses = {s for one in operations if isinstance(one, dict) for s in one["responses"]}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Toolscout",
            "version": __version__,
            "summary": "Which few of your hundreds of tools should the model see?",
            "description": "Post your tools and the model's query; get the names worth showing.",
            "contact": {"name": "Toolscout"},
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "This service"}],
        "tags": [
            {"name": "selection", "description": "Choosing tools"},
            {"name": "catalogs", "description": "Tool lists under a name, and looking into them"},
            {"name": "learning", "description": "What worked, and what was learned from it"},
            {"name": "operation", "description": "Probes and figures"},
        ],
        "x-bounds": [
            {"what": bound.what, "limit": bound.limit, "where": bound.where} for bound in BOUNDS
        ],
        "paths": described,
        "components": {
            "schemas": _schemas(),
            "responses": _problem_responses(statuses),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
        },
    }


@cache
def as_yaml() -> str:
    """Return the same as YAML; shared parts are repeated, which is easier to read and compare."""

    class Plain(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    text: str = yaml.dump(document(), None, Plain, sort_keys=False, allow_unicode=True, width=99)
    return text


def _problem_responses(used: set[str]) -> dict[str, Any]:
    by_status: dict[str, list[str]] = {}
    for code, kind in CODES.items():
        by_status.setdefault(str(kind.status), []).append(f"`{code}`: {kind.title}")
    content = {"application/problem+json": {"schema": ref("Problem")}}
    return {
        status: {"description": "; ".join(texts), "content": content}
        for status, texts in by_status.items()
        if status in used
    }


_WHOLE = frozenset(
    ("top_k", "max_tools", "min_tools", "latency_budget_ms", "budget_tokens", "token_budget")
)
"""Fields of whole numbers, which may be written as 5.0."""


def _schemas() -> dict[str, Any]:
    tool = _described(Tool, dict[str, Any] | None)
    taken = dict.fromkeys(struct for route in ROUTES for struct in route.takes)
    structs: list[Any] = [tool, Problem, *(struct for route in ROUTES for struct in route.gives)]
    structs += [_described(struct, list[tool] | None) for struct in taken]  # type: ignore[valid-type]
    _, schemas = msgspec.json.schema_components(structs, ref_template=REF)
    needs_tools = {"anyOf": [_given("tools"), _given("catalog")]}
    for schema in (schemas[struct.__name__] for struct in filter(_names_tools, taken)):
        for name in _WHOLE.intersection(schema["properties"]):
            for kind in schema["properties"][name]["anyOf"]:
                kind["type"] = kind["type"].replace("number", "integer")
        # Null counts as absent, which a struct cannot express.
        schema["allOf"] = [needs_tools]
    text = {"type": "string", "pattern": r"\S", "description": "The model's query, any form"}
    one_cap = {"not": {"allOf": [_given("top_k"), _given("max_tools")]}}
    search = schemas["SearchRequest"]
    search["properties"]["pattern"] = search["properties"]["query"] = {
        "anyOf": [text, {"type": "null"}]
    }
    asking = [_given("pattern"), _given("query"), _given("messages")]
    search["allOf"] += [{"oneOf": asking}, one_cap]
    question = schemas["Question"]
    question["properties"]["pattern"] = search["properties"]["pattern"]
    question["oneOf"] = [_given("pattern"), _given("messages")]
    for asked in (search, question):
        messages = asked["properties"]["messages"]["anyOf"][0]
        messages["contains"] = user_message()
        # The bound is in `x-bounds`: who generates requests from here would fill it.
        del messages["maxItems"]
    schemas["Message"]["anyOf"] = [_given("role"), _given("type")]
    tools = {"type": "array", "items": {"anyOf": [ref("Tool"), ref("ProviderTool")]}}
    schemas |= {"ProviderTool": provider_tool(), "ToolsAnswer": tools_answer(tools)}
    given = {"anyOf": [tools, ref("ToolsAnswer")]}
    for struct in filter(_names_tools, taken):
        schemas[struct.__name__]["properties"]["tools"] = {
            "anyOf": [*given["anyOf"], {"type": "null"}]
        }
    schemas["CatalogPut"]["properties"]["tools"] = given
    schemas["CatalogPatch"]["properties"]["upsert"] = {"anyOf": [*given["anyOf"], {"type": "null"}]}
    event, turn = schemas["FeedbackEvent"], {"type": "string", "minLength": 1}
    event["properties"]["pattern"]["anyOf"][0]["pattern"] = r"\S"
    event["anyOf"] = [_given("pattern"), {"required": ["turn"], "properties": {"turn": turn}}]
    schemas["ChainReport"]["properties"]["intent"]["pattern"] = r"\S"
    batch = schemas["BatchRequest"]
    batch["properties"]["patterns"]["items"] = {"anyOf": [text, ref("Question")]}
    batch["allOf"].append(one_cap)
    for schema in schemas.values():
        if "description" in schema:
            schema["description"] = cleandoc(schema["description"])
    return {name: finished(name, schema) for name, schema in sorted(schemas.items())}


def _names_tools(struct: type[msgspec.Struct]) -> bool:
    return {"tools", "catalog"} <= set(struct.__struct_fields__)


def _given(name: str) -> dict[str, Any]:
    """Present, and not null."""
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}}}


def _described(struct: type[msgspec.Struct], raw: Any) -> type[msgspec.Struct]:
    """Return a copy of a contract struct with types for its raw JSON fields."""
    if ABSENT not in struct.__struct_defaults__:
        return struct
    hints = get_type_hints(struct, include_extras=True)
    fields = [
        (field.name, raw, None)
        if field.default is ABSENT
        else (field.name, hints[field.name], field.default)
        for field in msgspec.structs.fields(struct)
    ]
    return msgspec.defstruct(
        struct.__name__, fields, kw_only=True, namespace={"__doc__": struct.__doc__}
    )
