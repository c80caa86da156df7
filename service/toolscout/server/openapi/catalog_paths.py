"""What the OpenAPI document says of the paths below `/v1/catalogs`."""

from typing import Any

from toolscout.server.openapi.paths import ANYWHERE, ref

_SECURITY: list[dict[str, list[str]]] = [{"bearer": []}, {"apiKey": []}]
_ID = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "A registered name, or the digest of a list",
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"},
}
_TOOL = {
    "name": "tool",
    "in": "path",
    "required": True,
    "description": "A tool's name in any spelling",
    "schema": {"type": "string", "minLength": 1, "pattern": "^[A-Za-z0-9_.-]+$"},
}
_KNOWN = {
    "name": "If-None-Match",
    "in": "header",
    "description": "The entity tag that is known already",
    "schema": {"type": "string"},
}
_UNCHANGED = {"304": {"description": "Not modified"}}
_EXAMPLE_TOOLS = [{"name": "search_code", "description": "Search the code of a repository"}]


def paths() -> dict[str, Any]:
    """Every path with its operations."""
    below = "/v1/catalogs/{id}"
    put = {"tools": _EXAMPLE_TOOLS, "ttl_s": 86_400}
    patch = {"status": {"search_code": "unavailable"}}
    changed = {"200": _content("CatalogInfo")}
    return {
        below: {
            "get": _operation(
                "getCatalog",
                "Describe a catalog",
                {"200": _content("CatalogInfo"), **_UNCHANGED},
                parameters=[_KNOWN],
            ),
            "put": _operation(
                "putCatalog",
                "Register a tool list; `If-Match` and `If-None-Match` are honoured (412)",
                {**changed, "201": _content("CatalogInfo")},
                body=("CatalogPut", put),
            ),
            "patch": _operation(
                "patchCatalog",
                "Change a registered catalog; `If-Match` is honoured (412)",
                changed,
                body=("CatalogPatch", patch),
            ),
            "delete": _operation(
                "deleteCatalog",
                "Delete a registered catalog; `If-Match` is honoured (412)",
                {"204": {"description": "Done"}},
            ),
            "parameters": [_ID],
        },
        below + "/tools": {
            "get": _operation(
                "listTools",
                "One page of tools; `cursor=` takes `next_cursor` of the page before",
                {"200": _content("ToolPage"), **_UNCHANGED},
                parameters=[
                    _KNOWN,
                    _query("page_size", _SIZE, "Tools per page"),
                    _query("detail", _levels("names", "brief", "full"), "How much of each"),
                ],
            ),
            "parameters": [_ID],
        },
        below + "/tools:batch": {
            "post": _operation(
                "toolSchemas",
                "Several tools whole",
                {"200": _content("SchemasAnswer")},
                body=("SchemasRequest", {"names": ["search_code"]}),
            ),
            "parameters": [_ID],
        },
        below + "/tools:complete": {
            "get": _operation(
                "completeNames",
                "Names that begin so",
                {"200": _content("CompletionAnswer"), **_UNCHANGED},
                parameters=[
                    _KNOWN,
                    _query("prefix", {"type": "string"}, "The beginning, any spelling"),
                ],
            ),
            "parameters": [_ID],
        },
        below + "/tools/{tool}": {
            "get": _operation(
                "getTool",
                "One tool",
                {"200": _content("ToolDetail")},
                parameters=[_query("detail", _levels("brief", "full"), "How much of it")],
            ),
            "parameters": [_ID, _TOOL],
        },
        below + "/index": {
            "get": _operation(
                "toolIndex",
                "Every tool in a line",
                {"200": _content("IndexAnswer"), **_UNCHANGED},
                parameters=[_KNOWN],
            ),
            "parameters": [_ID],
        },
        below + "/overview": {
            "get": _operation(
                "overview",
                "A catalog in 500 tokens",
                {"200": _content("OverviewAnswer"), **_UNCHANGED},
                parameters=[_KNOWN],
            ),
            "parameters": [_ID],
        },
    }


_SIZE = {"type": "integer", "minimum": 1, "maximum": 1_000, "default": 50}


def _operation(
    name: str,
    summary: str,
    answers: dict[str, Any],
    body: tuple[str, Any] | None = None,
    parameters: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    failures = [*ANYWHERE, "400", "401", "404", "412", "413", "415", "422", "429", "500", "503"]
    found: dict[str, Any] = {
        "tags": ["catalogs"],
        "operationId": name,
        "summary": summary,
        "security": _SECURITY,
        "responses": answers
        | {status: {"$ref": f"#/components/responses/{status}"} for status in failures},
    }
    if parameters:
        found["parameters"] = parameters
    if body is not None:
        schema, example = body
        media = {"schema": ref(schema), "example": example}
        found["requestBody"] = {"required": True, "content": {"application/json": media}}
    return found


def _content(schema: str) -> dict[str, Any]:
    media = {"application/json": {"schema": ref(schema)}}
    return {"description": "The answer", "content": media}


def _query(name: str, schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": description, "schema": schema}


def _levels(*names: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(names), "default": "brief"}
