"""Schemas written out, without references, within a number of bytes.

A schema that holds itself has no end, and one component that 3,000 operations share would be
written 3,000 times. What is too long loses first the descriptions within its fields, then its
depth, then the descriptions of fields, then fields that are not required. What was cut is marked
with `…`; names, enumerations and what is required stay.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from toolscout.files.neutral import LISTS, MAPS, NESTING, SINGLE, as_list, neutralise
from toolscout.files.references import DocumentValue, References

CUT = "…"

ALL = 2
OWN = 1
NONE = 0
"""Whose descriptions are written: all, those of fields alone, none."""

FORMS = (
    (8, ALL),
    *((depth, OWN) for depth in (8, 6, 5, 4, 3, 2, 1)),
    (1, NONE),
)
"""Levels below a field that are written, and descriptions: the first that fits is taken."""

_encode = msgspec.json.Encoder().encode


class Written(NamedTuple):
    """A part of a schema."""

    value: Any
    nbytes: int
    is_cut: bool = False


_MARK = Written({"description": CUT}, 20, is_cut=True)


class Field(NamedTuple):
    """A property of a tool."""

    schema: DocumentValue
    description: str | None = None
    """That of the parameter, which goes before its schema's."""


class Fitted(NamedTuple):
    """Properties as they were written."""

    properties: dict[str, Any]
    nbytes: int
    is_cut: bool
    left_out: int = 0
    """Properties that did not fit."""


class WrittenFields(NamedTuple):
    """Groups of fields as they were written, and their bytes together."""

    groups: tuple[Mapping[str, Written], ...]
    nbytes: int
    is_cut: bool

    def join(self, other: "WrittenFields") -> "WrittenFields":
        """Return both."""
        nbytes = self.nbytes + other.nbytes
        return WrittenFields(self.groups + other.groups, nbytes, self.is_cut or other.is_cut)


class Shortener:
    """Writes the fields of tools within a number of bytes each, which may be lowered."""

    def __init__(self, references: References, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._references = references
        self.missing: dict[str, None] = {}
        """Names that schemas require and have no property of."""
        self._known: dict[tuple[int, int, int], tuple[Any, Written]] = {}
        """By what was written, which is kept alive, and in which form."""
        self._bodies: dict[tuple[int, int], tuple[Any, WrittenFields]] = {}
        self._last_form = 1
        """The form that the last long tool needed."""

    def fit(
        self, fields: Mapping[str, Field], body: Mapping[str, Field], required: Container[str]
    ) -> Fitted:
        """Return the properties of a tool in the first form that is short enough.

        Those of its body are written once for all tools that have the same.
        """
        form = 0
        written = self._write_all(fields, body, form)
        if written.nbytes > self.most_bytes:
            # Forms get ever shorter, and most tools of a document need the same one.
            form = max(1, self._last_form)
            written = self._write_all(fields, body, form)
            while written.nbytes > self.most_bytes and form + 1 < len(FORMS):
                form += 1
                written = self._write_all(fields, body, form)
            while written.nbytes <= self.most_bytes and form > 1:
                longer = self._write_all(fields, body, form - 1)
                if longer.nbytes > self.most_bytes:
                    break
                form -= 1
                written = longer
            self._last_form = form
        if written.nbytes > self.most_bytes:
            return self._drop_fields(written, required)
        properties = {name: one.value for group in written.groups for name, one in group.items()}
        return Fitted(properties, written.nbytes, written.is_cut or form > 0)

    def _write_all(
        self, fields: Mapping[str, Field], body: Mapping[str, Field], form: int
    ) -> "WrittenFields":
        """Write fields in a form."""
        own = self._write_group(fields, form)
        known = self._bodies.get((id(body), form))
        if known is None:
            known = self._bodies[id(body), form] = body, self._write_group(body, form)
        return own.join(known[1])

    def _write_group(self, fields: Mapping[str, Field], form: int) -> "WrittenFields":
        depth, told = FORMS[form]
        written = {name: self._write_field(one, depth, told) for name, one in fields.items()}
        nbytes = sum(count_bytes(name) + 4 + one.nbytes for name, one in written.items())
        return WrittenFields((written,), nbytes, any(one.is_cut for one in written.values()))

    def _drop_fields(self, written: "WrittenFields", required: Container[str]) -> Fitted:
        """Return as much as fits: first what is required, then the rest, in their order."""
        every = [pair for group in written.groups for pair in group.items()]
        kept: set[str] = set()
        nbytes = 0
        for is_first in (True, False):
            for name, one in every:
                size = count_bytes(name) + 4 + (_MARK if one.value is None else one).nbytes
                size += count_bytes(name) + 3 if is_first else 0  # it is named as required, too
                is_turn = (name in required) is is_first
                if is_turn and nbytes + size <= self.most_bytes:
                    kept.add(name)
                    nbytes += size
        properties = {
            name: (_MARK if one.value is None else one).value for name, one in every if name in kept
        }
        return Fitted(properties, nbytes, is_cut=True, left_out=len(every) - len(kept))

    def _write_field(self, field: Field, depth: int, told: int) -> Written:
        written = self._write(field.schema, depth, told, is_kept=True)
        about = field.description
        if about is None or not told or not isinstance(written.value, dict):
            return written
        own = written.value.get("description")
        before = count_bytes(own) + 18 if isinstance(own, str) else 0
        nbytes = written.nbytes + count_bytes(about) + 18 - before
        rest = {key: one for key, one in written.value.items() if key != "description"}
        return Written({"description": about, **rest}, nbytes, written.is_cut)

    def _write(
        self, place: DocumentValue, depth: int, told: int, *, is_kept: bool = False
    ) -> Written:
        """Write a schema; what is longer than all may be is only known to be too long."""
        if isinstance(place.value, bool):
            return Written(place.value, 5)
        if not isinstance(place.value, Mapping):
            return Written({}, 2)
        if not is_kept and "$ref" not in place.value:
            return self._write_level(place, depth, told)
        key = (id(place.value), depth, told)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = place.value, self._write_target(place, depth, told)
        return known[1]

    def _write_target(self, place: DocumentValue, depth: int, told: int) -> Written:
        target = self._references.resolve(place)
        if target.value is place.value:
            return self._write_level(place, depth, told)
        return self._write(target, depth, told, is_kept=True)

    def _write_level(self, place: DocumentValue, depth: int, told: int) -> Written:
        schema = neutralise(place.value)
        if told == NONE:
            schema.pop("description", None)
        if depth <= 0 and not NESTING.isdisjoint(schema):
            return _leave_open(schema)
        made: dict[str, Any] = {}
        nbytes = 2
        is_cut = False
        for key, value in schema.items():
            if key in NESTING:
                one = self._write_nested(key, place.below(value), depth - 1, told)
            else:
                one = _write_plain(value)
            if one is None:
                continue
            made[key] = one.value
            nbytes += len(key) + 4 + one.nbytes
            is_cut = is_cut or one.is_cut
            if nbytes > self.most_bytes:
                return Written(None, nbytes, is_cut=True)
        missing = _mend_required(made, place.value)
        # Where there are parts, another one may have them.
        if "properties" in schema and NESTING.isdisjoint(schema.keys() - {"properties"}):
            self.missing |= dict.fromkeys(missing)
        return Written(made, nbytes, is_cut)

    def _write_nested(
        self, key: str, place: DocumentValue, depth: int, told: int
    ) -> Written | None:
        """Write what a keyword says of other schemas; None of what is no such thing."""
        value = place.value
        told = ALL if told == ALL else NONE
        if key in SINGLE:
            is_schema = isinstance(value, bool | Mapping)
            return self._write(place, depth, told) if is_schema else None
        if key in LISTS and isinstance(value, list) and value:
            return self._write_list(place, value, depth, told)
        if key not in MAPS or not isinstance(value, Mapping):
            return None
        made: dict[str, Any] = {}
        nbytes = 2
        is_cut = False
        for name, inner in value.items():
            if key == "properties" and self._references.is_read_only(place.below(inner)):
                continue
            one = self._write(place.below(inner), depth, told)
            made[str(name)] = one.value
            nbytes += count_bytes(str(name)) + 4 + one.nbytes
            is_cut = is_cut or one.is_cut
            if nbytes > self.most_bytes:
                break
        return Written(made, nbytes, is_cut)

    def _write_list(
        self, place: DocumentValue, schemas: Sequence[Any], depth: int, told: int
    ) -> Written:
        made = []
        nbytes = 2
        is_cut = False
        for one in schemas:
            part = self._write(place.below(one), depth, told)
            made.append(part.value)
            nbytes += part.nbytes + 1
            is_cut = is_cut or part.is_cut
            if nbytes > self.most_bytes:
                break
        return Written(made, nbytes, is_cut)


def count_bytes(text: str) -> int:
    """Return the bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _leave_open(schema: Mapping[str, Any]) -> Written:
    """Return what is left of a schema that is too deep: its type, and the mark."""
    made = {"type": schema["type"]} if "type" in schema else {}
    if "array" in as_list(made.get("type")):
        made["items"] = {}
    made["description"] = CUT
    return Written(made, len(_encode(made)), is_cut=True)


def _write_plain(value: Any) -> Written | None:
    """Return a value that is no schema; None of one that is no JSON, as one that holds itself."""
    if isinstance(value, str):
        return Written(value, count_bytes(value) + 2)
    try:
        return Written(value, len(_encode(value)))
    except (RecursionError, OverflowError, TypeError, ValueError):
        return None


def _mend_required(made: dict[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """Require no property that is only in answers; add and return the others that are missing."""
    required = made.get("required")
    if not isinstance(required, list):
        return []
    properties = made.get("properties", {})
    before = schema.get("properties")
    gone = (before if isinstance(before, Mapping) else {}).keys() - properties.keys()
    names = dict.fromkeys(one for one in required if isinstance(one, str) and one not in gone)
    made["required"] = list(names)
    missing = [name for name in names if name not in properties]
    if missing:
        made["properties"] = {**properties, **{name: {} for name in missing}}
    return missing
