"""What handlers and structs say of themselves, for the document of the API."""

import ast
from collections.abc import Mapping
from functools import cache
from inspect import getsource
from itertools import pairwise
from typing import Any

import msgspec
from litestar import Response
from litestar.handlers import HTTPRouteHandler
from litestar.params import ParameterKwarg, PathParameter
from litestar.typing import FieldDefinition

from toolscout import errors
from toolscout.contract import answers, catalogs, learning, requests, tools
from toolscout.server.calls.typed import NOT_BLANK
from toolscout.server.http import problems
from toolscout.server.http.request import Route
from toolscout.server.routes.table import RAW, Operation, list_typed

Json = dict[str, Any]

_DESCRIBED = (errors, problems, requests, tools, answers, catalogs, learning)
"""Modules with the structs of the contract, each after those that it derives from."""


def list_operations() -> list[Operation]:
    """Return every operation: those looked up before Litestar, then those that it routes."""
    return [*RAW, *(_describe_routed(*one) for one in list_typed())]


def _describe_routed(route: Route, handler: HTTPRouteHandler) -> Operation:
    signature = handler.parsed_fn_signature
    gives = signature.return_type
    if gives.is_subclass_of(Response):
        gives = gives.inner_types[0]
    data = handler.parsed_data_field
    first, *words = handler.handler_name.rpartition(".")[2].split("_")
    (method,) = handler.http_methods
    return Operation(
        method,
        handler.fn,
        route,
        first + "".join(map(str.capitalize, words)),
        next(iter(handler.resolve_tags())),
        None if data is None else data.annotation,
        None if gives.is_none_type else gives.annotation,
        (handler.status_code, *(handler.responses or ())),
        [
            _describe_parameter(field, field.kwarg_definition)
            for field in signature.parameters.values()
            if isinstance(field.kwarg_definition, ParameterKwarg)
        ],
    )


def _describe_parameter(field: FieldDefinition, parameter: ParameterKwarg) -> Json:
    """Describe a parameter by its name, its type and its bounds in a handler's signature."""
    kinds = (
        [kind for kind in field.inner_types if not kind.is_none_type] if field.is_optional else []
    )
    schema = msgspec.json.schema(kinds[0].annotation if kinds else field.annotation)
    bounds = {"minimum": parameter.ge, "maximum": parameter.le, "pattern": parameter.pattern}
    bounds["default"] = field.default or None if field.has_default else None
    schema |= {name: value for name, value in bounds.items() if value is not None}
    schema |= parameter.schema_extra or {}
    described: Json = {"name": parameter.name or field.name, "in": parameter.param_type.value}
    if isinstance(parameter, PathParameter) or schema.get("pattern") == NOT_BLANK:
        described["required"] = True
    return described | {"description": parameter.description, "schema": schema}


@cache
def read_field_docs() -> Mapping[str, Mapping[str, str]]:
    """Return the docstrings under the fields of all structs of the contract, by shape and field."""
    docs: dict[str, dict[str, str]] = {}
    for module in _DESCRIBED:
        for node in ast.parse(getsource(module)).body:
            if isinstance(node, ast.ClassDef):
                own = docs[node.name] = {}
                for base in node.bases:
                    own |= docs.get(ast.unparse(base), {})
                for field, text in pairwise(node.body):
                    if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                        words = ast.literal_eval(text.value).split()
                        own[ast.unparse(field.target)] = " ".join(words)
    return docs
