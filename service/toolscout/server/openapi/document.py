"""The OpenAPI document, made from the handlers, the structs, the error table and two files.

`frame.yaml` has what these do not say, such as rules between fields; `examples.yaml` a request and
its answer for each operation.
"""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from inspect import cleandoc
from typing import Any, cast, get_args, get_type_hints

import msgspec
import yaml

from toolscout import __version__
from toolscout.contract.bounds import BOUNDS
from toolscout.contract.fields import ABSENT
from toolscout.contract.tools import Tool
from toolscout.server.http.problems import CODES, Problem
from toolscout.server.openapi.operations import Json, list_operations, read_field_docs
from toolscout.server.routes.table import Operation

_REF = "#/components/schemas/{name}"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_SECURITY: list[Json] = [{"bearer": []}, {"apiKey": []}]
_HEAD_ERRORS = {"403", "408", "421", "431"}
"""Errors of request heads, on every path."""
_ERRORS = _HEAD_ERRORS | {"401", "429", "500", "503"}
"""Errors of every path that is not open."""
_BODY_ERRORS = {"400", "404", "413", "415", "422"}

FIRST = ("pattern", "query", "messages", "patterns", "tools", "catalog", "top_k", "max_tools")
"""Fields that stand before all others: what most requests have."""


@cache
def make_document() -> Json:
    """Return the whole document; the same object at every call."""
    frame = _load("frame.yaml")
    every = list_operations()
    paths: Json = {}
    for one in every:
        item = paths.setdefault(one.route.path, {})
        item[one.method.lower()] = _describe_operation(one)
    statuses = {
        status for item in paths.values() for one in item.values() for status in one["responses"]
    }
    head = frame["head"]
    return {
        **head,
        "info": {"version": __version__, **head["info"]},
        "x-bounds": msgspec.to_builtins(list(BOUNDS)),
        "paths": paths,
        "components": {
            "schemas": _make_schemas(every),
            "responses": _describe_problems(statuses),
            "securitySchemes": frame["security"],
        },
    }


@cache
def write_json() -> bytes:
    """Return the document as JSON."""
    return msgspec.json.encode(make_document())


@cache
def write_yaml() -> str:
    """Return the same as YAML; shared parts are repeated, which is easier to read and compare."""
    options: Any = {"sort_keys": False, "allow_unicode": True, "width": 99}
    return str(yaml.safe_dump(msgspec.json.decode(write_json()), **options))


@cache
def _load(name: str) -> Json:
    text = files(__package__).joinpath(name).read_text("utf-8")
    return cast(Json, yaml.load(text, _LOADER))  # noqa: S506 - a safe loader


def _describe_operation(one: Operation) -> Json:
    summary, _, about = cleandoc(one.handler.__doc__ or "").partition("\n\n")
    about = " ".join(about.split())
    route = one.route
    example = _load("examples.yaml").get(one.name, {})
    if not route.is_open:
        about = f"{about} Scope of the key: `{route.scope}`."
    described: Json = {"tags": [one.tag], "operationId": one.name, "summary": summary.rstrip(".")}
    described |= {"description": about, "security": _SECURITY}
    if one.parameters:
        described["parameters"] = list(one.parameters)
    if one.takes:
        media = {"schema": _refer_to_one(one.takes), "example": example["takes"]}
        described["requestBody"] = {"required": True, "content": {"application/json": media}}
    if route.is_open:
        answers = _load("frame.yaml")["probes"][one.name]
        described["security"] = [{}, *_SECURITY] if "401" in answers else []
        described["responses"] = answers | _refer_to_problems(_HEAD_ERRORS)
    else:
        described["responses"] = _describe_responses(one, example) | _refer_to_problems(
            _list_errors(one)
        )
    return described


def _describe_responses(one: Operation, example: Json) -> Json:
    """Return the answers of an operation that are no errors."""
    answer: Json = {"description": "Done"}
    if one.gives:
        answer = {"description": "The answer"}
        if one.tag == "selection":
            headers = dict(_load("frame.yaml")["headers"])
            if one.route.call != "search":
                del headers["X-Tool-Selection"]
            answer["headers"] = headers
        media = {"schema": _refer_to_one(one.gives), "example": example["gives"]}
        answer["content"] = {"application/json": media}
    answers = {str(status): answer for status in one.statuses}
    if one.method == "GET" and "If-None-Match" in one.parameter_names:
        answers["304"] = {"description": "Not modified"}
    return answers


def _list_errors(one: Operation) -> set[str]:
    names = one.parameter_names
    cases = (
        (one.takes, _BODY_ERRORS),
        (names or one.tag == "catalogs", {"404", "422"}),
        (one.tag == "learning", {"404"}),
        ("cursor" in names, {"400"}),
        ("If-Match" in names, {"412"}),
    )
    return _ERRORS.union(*(statuses for holds, statuses in cases if holds))


def _refer_to_problems(statuses: Iterable[str]) -> Json:
    return {status: {"$ref": f"#/components/responses/{status}"} for status in sorted(statuses)}


def _describe_problems(used: set[str]) -> Json:
    by_status: dict[str, list[str]] = {}
    for code, kind in CODES.items():
        by_status.setdefault(str(kind.status), []).append(f"`{code}`: {kind.title}")
    content = {"application/problem+json": {"schema": _refer_to("Problem")}}
    return {
        status: {"description": "; ".join(texts), "content": content}
        for status, texts in by_status.items()
        if status in used
    }


def _list_shapes(kind: Any) -> tuple[Any, ...]:
    """Return the types of a body or an answer."""
    return () if kind is None else get_args(kind) or (kind,)


def _refer_to_one(kind: Any) -> Json:
    """Refer to the schema of a struct, or to those of several."""
    references = [_refer_to(struct.__name__) for struct in _list_shapes(kind)]
    return references[0] if len(references) == 1 else {"anyOf": references}


def _refer_to(name: str) -> Json:
    return {"$ref": _REF.format(name=name)}


def _make_schemas(every: Iterable[Operation]) -> Json:
    """Return the schemas of all structs, with the rules that they cannot express."""
    shapes = [
        shape for one in every for kind in (one.takes, one.gives) for shape in _list_shapes(kind)
    ]
    structs = map(_type_raw_fields, dict.fromkeys((Tool, Problem, *shapes)))
    _, schemas = msgspec.json.schema_components(structs, ref_template=_REF)
    merged = _merge(schemas, _load("frame.yaml")["schemas"])
    return {name: _finish(name, schema) for name, schema in sorted(merged.items())}


def _merge(schema: Any, patch: Any) -> Any:
    """Merge a part of `frame.yaml` into a schema, as is said there."""
    if isinstance(schema, dict) and isinstance(patch, dict):
        changed = {key: _merge(schema.get(key), value) for key, value in patch.items()}
        return {key: value for key, value in (schema | changed).items() if value is not None}
    if isinstance(schema, list) and isinstance(patch, list) and len(schema) == len(patch):
        return [_merge(*pair) for pair in zip(schema, patch, strict=True)]
    return patch


def _finish(name: str, schema: Json) -> Json:
    """Return the schema of a shape with a description of every field.

    It has no defaults: generators take a field with one for a field that is always there.
    """
    if "description" in schema:
        schema = {**schema, "description": cleandoc(schema["description"])}
    properties = schema.get("properties")
    if properties is None:
        return schema
    order = sorted(properties, key=lambda field: FIRST.index(field) if field in FIRST else 99)
    docs = read_field_docs().get(name, {})  # fields that are in `frame.yaml` alone have their own
    described = {}
    for field in order:
        opened = _open_objects(properties[field])
        for kind in opened.get("anyOf", ()):
            if kind.pop("multipleOf", None):
                kind["type"] = "integer"  # which may be written as 5.0
        described[field] = opened | ({"description": docs[field]} if field in docs else {})
    return {**schema, "properties": described}


def _open_objects(schema: Json) -> Json:
    """Let objects without known fields have any, which generators otherwise take for empty."""
    opened = {key: value for key, value in schema.items() if key != "default"}
    if opened.get("type") == "object" and not {"properties", "additionalProperties"} & set(opened):
        opened["additionalProperties"] = True
    for key in ("anyOf", "allOf", "oneOf"):
        if key in opened:
            opened[key] = [_open_objects(part) for part in opened[key]]
    for key in ("items", "additionalProperties"):
        if isinstance(opened.get(key), dict):
            opened[key] = _open_objects(opened[key])
    return opened


def _type_raw_fields(struct: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """Return a copy of a contract struct whose raw JSON fields are objects, or null."""
    if ABSENT not in struct.__struct_defaults__:
        return struct
    hints = get_type_hints(struct, include_extras=True)
    fields = [
        (field.name, dict[str, Any] | None, None)
        if field.default is ABSENT
        else (field.name, hints[field.name], field.default)
        for field in msgspec.structs.fields(struct)
    ]
    return msgspec.defstruct(
        struct.__name__, fields, kw_only=True, namespace={"__doc__": struct.__doc__}
    )
