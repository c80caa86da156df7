"""The OpenAPI document, made from the wire structs and the error table.

The hot endpoints read bytes, so no framework can see their types; the structs they decode with
are the same ones that are described here.
"""

from functools import cache
from inspect import cleandoc
from typing import Any, get_type_hints

import msgspec

from toolscout import __version__
from toolscout.contract import (
    ABSENT,
    BatchAnswer,
    BatchRequest,
    FilterAnswer,
    FilterRequest,
    GatewayAnswer,
    ResolveAnswer,
    ResolveRequest,
    SearchAnswer,
    SearchRequest,
    Tool,
)
from toolscout.server.problems import CODES, Problem

_REF = "#/components/schemas/{name}"
_SEARCH_ERRORS = tuple(code for code in CODES if code not in ("not_found", "method_not_allowed"))

_EXAMPLE_TOOLS = [
    {"name": "search_code", "description": "Search the code of a repository"},
    {"name": "read_file", "description": "Read a file from disk"},
]


@cache
def document() -> dict[str, Any]:
    """The whole document; the same object at every call."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Toolscout",
            "version": __version__,
            "summary": "Which few of your hundreds of tools should the model see?",
            "description": "Post your tools and the model's query; get the names worth showing.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "This service"}],
        "tags": [
            {"name": "selection", "description": "Choosing tools"},
            {"name": "operation", "description": "Probes and figures"},
        ],
        "paths": _paths(),
        "components": {
            "schemas": _schemas(),
            "responses": _problem_responses(),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
        },
    }


def _paths() -> dict[str, Any]:
    older = {"pattern": "find code", "top_k": 1, "tools": _EXAMPLE_TOOLS}
    newer = {"query": "find code", "max_tools": 1, "tools": _EXAMPLE_TOOLS}
    probe = {"security": [], "tags": ["operation"]}
    return {
        "/v1/tool-discovery/search": {
            "post": _post(
                "search",
                "Select tools for a query",
                "Names of at most `top_k` of the tools, most relevant first.",
                older,
                "SearchRequest",
                {"anyOf": [_ref("GatewayAnswer"), _ref("SearchAnswer")]},
            )
        },
        "/api/compress/tool-discovery/": {
            "post": _post(
                "compress",
                "Select tools for a query, newer contract",
                "The same selection for callers of the newer contract.",
                newer,
                "SearchRequest",
                _ref("GatewayAnswer"),
            )
        },
        "/v1/tool-discovery/search:batch": {
            "post": _post(
                "batch",
                "Select tools for several queries",
                "One result per pattern, in order; the latency budget is for all of them.",
                {"patterns": ["find code", "open a file"], "top_k": 1, "tools": _EXAMPLE_TOOLS},
                "BatchRequest",
                _ref("BatchAnswer"),
            )
        },
        "/v1/tool-discovery/resolve": {
            "post": _post(
                "resolve",
                "Find tools by written names",
                "Each name to the letter or in another spelling, else what it may have meant.",
                {"names": ["searchCode", "read_fil"], "tools": _EXAMPLE_TOOLS},
                "ResolveRequest",
                _ref("ResolveAnswer"),
            )
        },
        "/v1/tool-discovery/filter": {
            "post": _post(
                "filter",
                "Split tools by relevance",
                "Names to keep in front of a model and names to defer, by shared words alone.",
                {"query": "find code", "min_tools": 1, "max_tools": 1, "tools": _EXAMPLE_TOOLS},
                "FilterRequest",
                _ref("FilterAnswer"),
            )
        },
        "/healthz": {"get": {**probe, **_simple("healthz", "Alive", "The process answers.")}},
        "/readyz": {
            "get": {
                **probe,
                **_simple("readyz", "Ready", "Model loaded, self-test ranked, not draining.", 503),
            }
        },
        "/metrics": {
            "get": {
                "tags": ["operation"],
                "security": [{}, {"bearer": []}, {"apiKey": []}],
                "operationId": "metrics",
                "summary": "Prometheus metrics",
                "description": "Needs a key only with `metrics_auth = on`.",
                "responses": {
                    "200": {
                        "description": "Exposition text",
                        "content": {"text/plain": {"schema": {"type": "string"}}},
                    },
                    "401": {"$ref": "#/components/responses/401"},
                },
            }
        },
    }


def _post(
    operation: str,
    summary: str,
    description: str,
    example: Any,
    request: str,
    answer: dict[str, Any],
) -> dict[str, Any]:
    statuses = sorted({str(CODES[code].status) for code in _SEARCH_ERRORS})
    return {
        "tags": ["selection"],
        "operationId": operation,
        "summary": summary,
        "description": description,
        "security": [{"bearer": []}, {"apiKey": []}],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": _ref(request), "example": example},
            },
        },
        "responses": {
            "200": {
                "description": "The answer",
                "headers": _headers(selection=request == "SearchRequest"),
                "content": {"application/json": {"schema": answer}},
            },
            **{status: {"$ref": f"#/components/responses/{status}"} for status in statuses},
        },
    }


def _simple(operation: str, summary: str, description: str, also: int = 0) -> dict[str, Any]:
    content = {"application/json": {"schema": {"type": "object"}}}
    responses = {"200": {"description": description, "content": content}}
    if also:
        responses[str(also)] = {"description": "Not now", "content": content}
    return {
        "operationId": operation,
        "summary": summary,
        "description": description,
        "responses": responses,
    }


def _headers(*, selection: bool) -> dict[str, Any]:
    texts = {
        "X-Request-Id": "Echoed, or made when absent",
        "X-Catalog-Digest": "Digest of the tools; send it as `catalog` instead of `tools`",
        "Server-Timing": "Milliseconds spent decoding, compiling and ranking",
    }
    if selection:
        texts["X-Tool-Selection"] = "258->5; ranker=hybrid; cache=hit; outcome=match; degraded=no"
    return {
        name: {"description": text, "schema": {"type": "string"}} for name, text in texts.items()
    }


def _problem_responses() -> dict[str, Any]:
    by_status: dict[str, list[str]] = {}
    for code, kind in CODES.items():
        by_status.setdefault(str(kind.status), []).append(f"`{code}`: {kind.title}")
    content = {"application/problem+json": {"schema": _ref("Problem")}}
    return {
        status: {"description": "; ".join(texts), "content": content}
        for status, texts in by_status.items()
    }


_REQUESTS = (SearchRequest, BatchRequest, ResolveRequest, FilterRequest)
_ANSWERS = (SearchAnswer, GatewayAnswer, BatchAnswer, ResolveAnswer, FilterAnswer, Problem)
_WHOLE = frozenset(("top_k", "max_tools", "min_tools", "latency_budget_ms", "budget_tokens"))
"""Fields that take whole numbers, also written as 5.0."""


def _schemas() -> dict[str, Any]:
    tool = _described(Tool, dict[str, Any] | None)
    structs: list[Any] = [tool, *_ANSWERS]
    structs += [_described(struct, list[tool] | None) for struct in _REQUESTS]  # type: ignore[valid-type]
    _, schemas = msgspec.json.schema_components(structs, ref_template=_REF)
    needs_tools = {"anyOf": [_given("tools"), _given("catalog")]}
    for struct in _REQUESTS:
        schema = schemas[struct.__name__]
        for name in _WHOLE.intersection(schema["properties"]):
            for kind in schema["properties"][name]["anyOf"]:
                kind["type"] = kind["type"].replace("number", "integer")
        # Null counts as absent: what a struct cannot say.
        schema["allOf"] = [needs_tools]
    text = {"type": "string", "pattern": r"\S", "description": "The model's query, any form"}
    one_cap = {"not": {"allOf": [_given("top_k"), _given("max_tools")]}}
    search = schemas["SearchRequest"]
    search["properties"]["pattern"] = search["properties"]["query"] = {
        "anyOf": [text, {"type": "null"}]
    }
    search["allOf"] += [{"oneOf": [_given("pattern"), _given("query")]}, one_cap]
    batch = schemas["BatchRequest"]
    batch["properties"]["patterns"]["items"] = text
    batch["allOf"].append(one_cap)
    for schema in schemas.values():
        if "description" in schema:
            schema["description"] = cleandoc(schema["description"])
    return dict(sorted(schemas.items()))


def _given(name: str) -> dict[str, Any]:
    """Present, and not null."""
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}}}


def _described(struct: type[msgspec.Struct], raw: Any) -> type[msgspec.Struct]:
    """A twin of a wire struct that says what stands in its raw JSON fields."""
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


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": _REF.format(name=name)}
