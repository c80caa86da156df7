"""What an operation of an OpenAPI document takes: its parameters, and the fields of its body."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from toolscout.files.naming import name_parameters
from toolscout.files.references import DocumentValue, References
from toolscout.files.shortening import Field
from toolscout.tools.naming import find_free

BODY = "body"
"""The property of a body that is no object, or whose fields have names of parameters."""

LEFT_OUT = frozenset(("accept", "content-type", "authorization"))
"""Headers that OpenAPI leaves to the caller."""

MAX_PARTS = 100
"""Schemas of an `allOf` whose fields are joined."""

_OF_PARAMETER = frozenset(
    ("name", "in", "description", "required", "schema", "content", "style", "explode")
)
"""What of a parameter of Swagger 2.0 is not its schema."""


class Inputs(NamedTuple):
    """The fields of an operation by name, and which of them a call needs."""

    fields: dict[str, Field]
    """Its own."""
    required: dict[str, None]
    body: Mapping[str, Field] = {}
    """Those of its body; the same object wherever the body is the same."""
    missing: tuple[str, ...] = ()
    """Names that the body requires and has no field of."""


Bodies = dict[int, tuple[Any, Inputs | None]]
"""The fields of bodies, by the identity of their schemas, which are kept alive."""


class _Parameter(NamedTuple):
    name: str
    where: str
    """`path`, `query`, `header`, `cookie`; of Swagger 2.0 also `body` and `formData`."""
    schema: DocumentValue
    description: str | None
    is_required: bool

    @property
    def field(self) -> Field:
        """Return it as a property of a tool."""
        return Field(self.schema, self.description)


def read_inputs(
    references: References, operation: DocumentValue, shared: DocumentValue, bodies: Bodies
) -> Inputs:
    """Return the inputs of an operation, with the parameters that all of its path have.

    `bodies` remembers the fields of components, which many operations share.
    """
    every: dict[tuple[str, str], _Parameter] = {}
    for place in (shared, operation):
        for one in _read_parameters(references, place):
            every[one.name, one.where] = one
    plain = [one for one in every.values() if one.where not in ("body", "formData")]
    names = name_parameters((one.name, one.where) for one in plain)
    inputs = Inputs({}, {})
    for one in plain:
        _add(inputs, names[one.name, one.where], one.field, is_needed=one.is_required)
    for one in every.values():
        if one.where == "formData":
            _add(inputs, one.name, one.field, is_needed=one.is_required)
        elif one.where == "body":
            fields = _find_fields(references, one.schema, bodies)
            inputs = _with_body(inputs, fields, one.field, is_needed=one.is_required)
    body = references.resolve(operation.below(operation.value.get("requestBody")))
    schema = _find_content(references, body)
    if schema is None:
        return inputs
    fields = _find_fields(references, schema, bodies)
    whole = Field(schema, _read_text(body.value.get("description")))
    return _with_body(inputs, fields, whole, is_needed=body.value.get("required") is True)


def _read_parameters(references: References, place: DocumentValue) -> Iterator[_Parameter]:
    listed = place.value.get("parameters")
    for entry in listed if isinstance(listed, list) else ():
        parameter = references.resolve(place.below(entry))
        name = parameter.value.get("name")
        where = parameter.value.get("in")
        if not isinstance(name, str) or (where == "header" and name.lower() in LEFT_OUT):
            continue
        is_required = where == "path" or parameter.value.get("required") is True
        about = _read_text(parameter.value.get("description"))
        schema = _find_schema(references, parameter)
        yield _Parameter(name, str(where), schema, about, is_required)


def _find_schema(references: References, parameter: DocumentValue) -> DocumentValue:
    """Return the schema of a parameter: its own, that of its content, or itself in Swagger 2.0."""
    if "schema" in parameter.value:
        return parameter.below(parameter.value["schema"])
    if (of_content := _find_content(references, parameter)) is not None:
        return of_content
    own = {key: one for key, one in parameter.value.items() if key not in _OF_PARAMETER}
    return parameter.below(own)


def _find_content(references: References, place: DocumentValue) -> DocumentValue | None:
    """Return the schema of a body or parameter: that of its JSON, else of its first kind."""
    content = place.value.get("content")
    kinds = content if isinstance(content, Mapping) else {}
    kind = next((one for one in kinds if "json" in str(one)), next(iter(kinds), None))
    if kind is None:
        return None
    media = references.resolve(place.below(kinds[kind]))
    return media.below(media.value.get("schema"))


def _find_fields(references: References, schema: DocumentValue, bodies: Bodies) -> Inputs | None:
    component = references.resolve(schema)
    key = id(component.value)
    if key not in bodies:
        bodies[key] = component.value, _join_fields(references, component)
    return bodies[key][1]


def _with_body(inputs: Inputs, fields: Inputs | None, body: Field, *, is_needed: bool) -> Inputs:
    """Add the fields of a body, or the body as one where they cannot stand among parameters."""
    if fields is None or inputs.fields.keys() & fields.fields.keys():
        _add(inputs, BODY, body, is_needed=is_needed)
        return inputs
    needed = fields.required if is_needed else {}
    known = inputs.fields.keys() | fields.fields.keys()
    missing = tuple([name for name in needed if name not in known])
    for name in missing:
        _add(inputs, name, Field(body.schema.below({})), is_needed=True)
    return Inputs(inputs.fields, inputs.required | needed, fields.fields, missing)


def _join_fields(references: References, schema: DocumentValue) -> Inputs | None:
    """Return the fields of an object, those of its `allOf` too; None of what is none.

    Without those that are only in answers.
    """
    joined = Inputs({}, {})
    read_only: set[str] = set()
    left = [schema]
    for place in left:  # which grows meanwhile
        part = references.resolve(place)
        value = part.value
        parts = value.get("allOf")
        if isinstance(parts, list) and len(left) + len(parts) <= MAX_PARTS:
            left += [part.below(one) for one in parts]
        elif "allOf" in value or "oneOf" in value or "anyOf" in value:
            return None
        fields = value.get("properties")
        for name, field in fields.items() if isinstance(fields, Mapping) else ():
            if references.is_read_only(part.below(field)):
                read_only.add(str(name))
            else:
                joined.fields.setdefault(str(name), Field(part.below(field)))
        required = value.get("required")
        for name in required if isinstance(required, list) else ():
            if isinstance(name, str):
                joined.required[name] = None
    if not joined.fields:
        return None
    return Inputs(joined.fields, {name: None for name in joined.required if name not in read_only})


def _add(inputs: Inputs, name: str, field: Field, *, is_needed: bool) -> None:
    """Add a field; where another one has its name it gets one of its own."""
    if name in inputs.fields:
        name = find_free(f"{BODY}_{name}", inputs.fields)
    inputs.fields[name] = field
    if is_needed:
        inputs.required[name] = None


def _read_text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
