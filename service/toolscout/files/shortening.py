"""Schemas written out, without references, within a number of bytes.

A schema that holds itself has no end, and one component that 3,000 operations share would be
written 3,000 times. What is too long loses first the descriptions within its fields, then its
depth, then the descriptions of fields, then fields that are not required. What was cut is marked
with `…`; names, enumerations and what is required stay.
"""

from collections.abc import Mapping, Sequence
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
    """Properties that are not required and did not fit."""


class Shortener:
    """Writes the fields of tools within a number of bytes each, which may be lowered."""

    def __init__(self, references: References, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._references = references
        self.missing: dict[str, None] = {}
        """Names that schemas require and have no property of."""
        self._known: dict[tuple[int, int, int], tuple[Any, Written]] = {}
        """By what was written, which is kept alive, and in which form."""
        self._last_form = 1
        """The form that the last long tool needed."""

    def fit(self, fields: Mapping[str, Field], required: Sequence[str]) -> Fitted:
        """Return the properties of a tool in the first form that is short enough."""
        form = 0
        written, nbytes = self._write_all(fields, form)
        if nbytes > self.most_bytes:
            # Forms get ever shorter, and most tools of a document need the same one.
            form = max(1, self._last_form)
            written, nbytes = self._write_all(fields, form)
            while nbytes > self.most_bytes and form + 1 < len(FORMS):
                form += 1
                written, nbytes = self._write_all(fields, form)
            while nbytes <= self.most_bytes and form > 1:
                longer, more = self._write_all(fields, form - 1)
                if more > self.most_bytes:
                    break
                form -= 1
                written = longer
                nbytes = more
            self._last_form = form
        if nbytes > self.most_bytes:
            written, nbytes = self._drop_optional(written, frozenset(required))
        is_cut = form > 0 or any(one.is_cut for one in written.values())
        left_out = len(fields) - len(written)
        properties = {name: one.value for name, one in written.items()}
        return Fitted(properties, nbytes, is_cut or left_out > 0, left_out)

    def _write_all(self, fields: Mapping[str, Field], form: int) -> tuple[dict[str, Written], int]:
        """Write fields in a form; also return their bytes."""
        depth, told = FORMS[form]
        written = {name: self._write_field(one, depth, told) for name, one in fields.items()}
        return written, sum([len(name) + 4 + one.nbytes for name, one in written.items()])

    def _drop_optional(
        self, written: dict[str, Written], required: frozenset[str]
    ) -> tuple[dict[str, Written], int]:
        """Return what is required, and of the rest as much as fits."""
        nbytes = sum(len(name) + 4 + written[name].nbytes for name in required & written.keys())
        kept: dict[str, Written] = {}
        for name, one in written.items():
            if name in required:
                kept[name] = _MARK if one.value is None else one
            elif (more := nbytes + len(name) + 4 + one.nbytes) <= self.most_bytes:
                kept[name] = one
                nbytes = more
        return kept, nbytes

    def _write_field(self, field: Field, depth: int, told: int) -> Written:
        written = self._write(field.schema, depth, told, is_kept=True)
        about = field.description
        if about is None or not told or not isinstance(written.value, dict):
            return written
        own = written.value.get("description")
        nbytes = written.nbytes + len(about) + 18 - (len(own) + 18 if isinstance(own, str) else 0)
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
        if NESTING.isdisjoint(schema.keys() - {"properties"}):  # else another part may have them
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
            parts = [self._write(place.below(one), depth, told) for one in value]
            nbytes = sum(one.nbytes + 1 for one in parts)
            return Written([one.value for one in parts], nbytes, any(one.is_cut for one in parts))
        if key not in MAPS or not isinstance(value, Mapping):
            return None
        made: dict[str, Any] = {}
        nbytes = 2
        is_cut = False
        for name, inner in value.items():
            if key == "properties" and self.is_read_only(place.below(inner)):
                continue
            one = self._write(place.below(inner), depth, told)
            made[str(name)] = one.value
            nbytes += len(str(name)) + 4 + one.nbytes
            is_cut = is_cut or one.is_cut
            if nbytes > self.most_bytes:
                break
        return Written(made, nbytes, is_cut)

    def is_read_only(self, place: DocumentValue) -> bool:
        """Return whether a property is only in answers, so that no caller gives it."""
        return self._references.resolve(place).value.get("readOnly") is True


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
        return Written(value, len(value) + 2)
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
