"""Decode a body after bounding its number of values.

Decoding holds the interpreter lock for 90 to 500 ns a value: four million names in 16 MiB take
0.36 s of CPU time, in a thread as well. Skipping raw JSON takes a tenth of that. So a body that
may have too many values is first outlined (each field raw), and only then decoded.
"""

from collections.abc import Callable
from typing import TypeVar, get_type_hints

import msgspec

from toolscout.contract.bounds import MAX_VALUES
from toolscout.contract.fields import ABSENT, is_absent
from toolscout.errors import FieldError, InvalidRequest
from toolscout.index.values import count_values, count_values_outside_texts

T = TypeVar("T", bound=msgspec.Struct)

TOOLS = frozenset(("tools", "upsert"))
"""Fields with tools, which are bounded one by one when they are read."""

_NO_TOOLS = msgspec.Raw(b"[]")
_TEXT = ord('"')


def decoder(shape: type[T]) -> Callable[[bytes], T]:
    """Make a decoder of a struct that checks the number of values first.

    The decoder raises `InvalidRequest` if there are too many, and msgspec's errors.
    """
    decode = msgspec.json.Decoder(shape).decode
    fields = get_type_hints(shape)
    outline = msgspec.defstruct("Outline", [(name, msgspec.Raw, ABSENT) for name in fields])
    outlined = msgspec.json.Decoder(outline).decode

    def bounded(body: bytes) -> T:
        if len(body) <= MAX_VALUES or count_values(body) <= MAX_VALUES:
            return decode(body)
        found = outlined(body)
        raws = {name: getattr(found, name) for name in fields}
        raws = {name: raw for name, raw in raws.items() if not is_absent(raw)}
        _check(body, raws)
        # The tools stay raw, so they need not be skipped a second time.
        tools = {name: raws[name] for name in TOOLS & raws.keys()}
        rest = raws | dict.fromkeys(tools, _NO_TOOLS)
        return msgspec.structs.replace(decode(msgspec.json.encode(rest)), **tools)

    return bounded


def _check(body: bytes, fields: dict[str, msgspec.Raw]) -> None:
    """Check the values outside tools and texts.

    Raises:
        InvalidRequest: there are too many; the error names the field with the most.
    """
    counted = {name: count_values(memoryview(raw)) for name, raw in fields.items()}
    beside = count_values(body) - sum(counted.values())
    passed = [name for name, raw in fields.items() if name in TOOLS or memoryview(raw)[0] == _TEXT]
    left = {name: count for name, count in counted.items() if name not in passed}
    if beside + sum(left.values()) > MAX_VALUES:
        left = {name: count_values_outside_texts(memoryview(fields[name])) for name in left}
    total = beside + sum(left.values())
    if total > MAX_VALUES:
        most = max(left, key=left.__getitem__, default="body")
        path = most if left.get(most) else "body"
        message = f"at most {MAX_VALUES} values outside the tools, got {total}"
        raise InvalidRequest(f"{path}: {message}", (FieldError(path, message),))
