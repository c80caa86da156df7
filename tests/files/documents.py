"""OpenAPI documents with one operation."""

from typing import Any

JSON = "application/json"


def api(operation: dict[str, Any], method: str = "get", **more: Any) -> dict[str, Any]:
    """Return a document of one operation."""
    about = {"operationId": "one", "summary": "Show one", **operation}
    return {"openapi": "3.0.3", "paths": {"/a/{id}": {method: about}}, **more}


def body(schema: dict[str, Any], **about: Any) -> dict[str, Any]:
    """Return an operation whose body has a schema."""
    return {"requestBody": {"required": True, "content": {JSON: {"schema": schema}}, **about}}


def parameter(name: str, where: str = "query", **about: Any) -> dict[str, Any]:
    """Return a parameter."""
    return {"name": name, "in": where, **about}
