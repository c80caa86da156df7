"""The `paths` of the OpenAPI document, made from the routes."""

from collections.abc import Iterable
from typing import Any

from toolscout.contract import SearchRequest
from toolscout.server.http.problems import CODES
from toolscout.server.http.route import Parameter, Route

REF = "#/components/schemas/{name}"

_SECURITY: list[dict[str, list[str]]] = [{"bearer": []}, {"apiKey": []}]

_HEAD_ERRORS = {"403", "408", "421", "431"}
"""Errors of request heads, on every path."""

_READ_ERRORS = _HEAD_ERRORS | {"401", "404", "429", "503"}
_CATALOG_ERRORS = _READ_ERRORS | {"400", "412", "413", "415", "422", "500"}
_BODY_ERRORS = {str(kind.status) for code, kind in CODES.items() if code != "method_not_allowed"}

_IN_PATH = {
    "id": {
        "name": "id",
        "in": "path",
        "required": True,
        "description": "A registered name, or the digest of a list",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"},
    },
    "tool": {
        "name": "tool",
        "in": "path",
        "required": True,
        "description": "A tool's name in any spelling",
        "schema": {"type": "string", "minLength": 1, "pattern": "^[A-Za-z0-9_.-]+$"},
    },
}
_KNOWN = {
    "name": "If-None-Match",
    "in": "header",
    "description": "The entity tag that is known already",
    "schema": {"type": "string"},
}


def paths(routes: Iterable[Route]) -> dict[str, Any]:
    """Describe every path with its operations, in the order of the routes."""
    found: dict[str, Any] = {}
    for route in routes:
        if route.summary:
            found.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    for path, item in found.items():
        parameters = [shown for name, shown in _IN_PATH.items() if f"{{{name}}}" in path]
        if parameters:
            item["parameters"] = parameters
    return found


def _operation(route: Route) -> dict[str, Any]:
    found: dict[str, Any] = {
        "tags": [route.tag],
        "operationId": route.operation or route.call,
        "summary": route.summary,
    }
    if route.description:
        found["description"] = route.description
    found["security"] = _security(route)
    parameters = [_KNOWN] if route.is_conditional else []
    parameters += [_in_query(parameter) for parameter in route.parameters]
    if parameters:
        found["parameters"] = parameters
    if route.takes:
        media = {"schema": one_of(route.takes), "example": route.example}
        found["requestBody"] = {"required": True, "content": {"application/json": media}}
    found["responses"] = dict(route.responses) or _responses(route)
    return found


def _security(route: Route) -> list[dict[str, list[str]]]:
    if not route.is_open:
        return _SECURITY
    return [{}, *_SECURITY] if "401" in route.responses else []


def _responses(route: Route) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": "Done"}
    if route.gives:
        answer = {"description": "The answer"}
        if route.tag == "selection":
            answer["headers"] = _headers(selection=SearchRequest in route.takes)
        answer["content"] = {"application/json": {"schema": one_of(route.gives)}}
    found = {str(status): answer for status in route.statuses}
    if route.is_conditional:
        found["304"] = {"description": "Not modified"}
    return found | {
        status: {"$ref": f"#/components/responses/{status}"} for status in sorted(_errors(route))
    }


def _errors(route: Route) -> set[str]:
    if route.tag == "catalogs":
        return _CATALOG_ERRORS
    if route.takes:
        return _BODY_ERRORS
    return _READ_ERRORS | ({"422"} if route.parameters else set())


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


def _in_query(parameter: Parameter) -> dict[str, Any]:
    found: dict[str, Any] = {"name": parameter.name, "in": "query"}
    if parameter.is_required:
        found["required"] = True
    return found | {"description": parameter.description, "schema": parameter.schema}


def one_of(structs: tuple[type, ...]) -> dict[str, Any]:
    """Refer to the schema of a struct, or to those of several."""
    found = [ref(struct.__name__) for struct in structs]
    return found[0] if len(found) == 1 else {"anyOf": found}


def ref(name: str) -> dict[str, Any]:
    """Refer to a schema of the document."""
    return {"$ref": REF.format(name=name)}
