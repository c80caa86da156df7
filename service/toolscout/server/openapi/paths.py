"""The `paths` of the OpenAPI document, made from the routes."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from toolscout.contract.requests import SearchRequest
from toolscout.server.routes.route import Parameter, Route

REF = "#/components/schemas/{name}"

_SECURITY: list[dict[str, list[str]]] = [{"bearer": []}, {"apiKey": []}]

_HEAD_ERRORS = {"403", "408", "421", "431"}
"""Errors of request heads, on every path."""

_ERRORS = _HEAD_ERRORS | {"401", "429", "500", "503"}
"""Errors of every path that is not open."""

_BODY_ERRORS = {"400", "413", "415", "422"}

_EXPECTED = {
    "name": "If-Match",
    "in": "header",
    "description": "The entity tag that the catalog must have",
    "schema": {"type": "string"},
}

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
            found.setdefault(_shown(route.path), {})[route.method.lower()] = _operation(route)
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
    scope = "" if route.is_open else f"Scope of the key: `{route.scope}`."
    if about := f"{route.description} {scope}".strip():
        found["description"] = about
    found["security"] = _security(route)
    parameters = [_KNOWN] if route.is_conditional or route.method == "PUT" else []
    parameters += [_EXPECTED] if _may_conflict(route) else []
    parameters += [_in_query(parameter) for parameter in route.parameters]
    if parameters:
        found["parameters"] = parameters
    if route.takes:
        media = {"schema": one_of(route.takes), "example": route.example}
        found["requestBody"] = {"required": True, "content": {"application/json": media}}
    found["responses"] = _responses(route)
    return found


def _security(route: Route) -> list[dict[str, list[str]]]:
    if not route.is_open:
        return _SECURITY
    return [{}, *_SECURITY] if "401" in route.responses else []


def _responses(route: Route) -> dict[str, Any]:
    if route.responses:
        return dict(route.responses) | _problems(_HEAD_ERRORS)
    answer: dict[str, Any] = {"description": "Done"}
    if route.gives:
        answer = {"description": "The answer"}
        if route.tag == "selection":
            answer["headers"] = _headers(selection=SearchRequest in route.takes)
        example = _answers()[route.operation or route.call]
        media = {"schema": one_of(route.gives), "example": example}
        answer["content"] = {"application/json": media}
    found = {str(status): answer for status in route.statuses}
    if route.is_conditional:
        found["304"] = {"description": "Not modified"}
    return found | _problems(_errors(route))


def _problems(statuses: Iterable[str]) -> dict[str, Any]:
    return {status: {"$ref": f"#/components/responses/{status}"} for status in sorted(statuses)}


@cache
def _answers() -> dict[str, Any]:
    """Return example answers by operation id, to the example requests."""
    text = files(__package__).joinpath("answers.json").read_bytes()
    found: dict[str, Any] = msgspec.json.decode(text)
    return found


def _errors(route: Route) -> set[str]:
    found = set(_ERRORS)
    if route.takes:
        found |= _BODY_ERRORS
    if route.takes or route.parameters or route.tag == "catalogs":
        found |= {"404", "422"}
    if route.tag == "learning":
        found.add("404")
    if any(parameter.name == "cursor" for parameter in route.parameters):
        found.add("400")
    if _may_conflict(route):
        found.add("412")
    return found


def _may_conflict(route: Route) -> bool:
    """Whether `If-Match` is honoured."""
    return route.tag == "catalogs" and route.method in ("PUT", "PATCH", "DELETE")


def _shown(path: str) -> str:
    """Return a path as generators want it; the service also takes a slash at its end."""
    return path.rstrip("/")


def _headers(*, selection: bool) -> dict[str, Any]:
    texts = {
        "X-Request-Id": "Echoed, or made when absent",
        "X-Catalog-Digest": "Digest of the tools; send it as `catalog` instead of `tools`",
        "Server-Timing": "Milliseconds of decoding, compiling, ranking, and in total",
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
