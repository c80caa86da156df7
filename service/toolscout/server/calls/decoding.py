"""Decode bodies, with the number of their values bounded and misspelt fields refused."""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, Generic, TypeVar

import msgspec

from toolscout.contract.bounds import MAX_VALUES
from toolscout.contract.fields import ABSENT, is_absent
from toolscout.errors import NOT_JSON
from toolscout.index.values import count_values, count_values_outside_texts
from toolscout.server.calls.unknown_fields import check_spelling, find_unknown_fields
from toolscout.server.http.problems import decode_error, refuse_field

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

TOOLS = frozenset(("tools", "upsert"))
"""Fields with tools, which are bounded one by one when they are read."""

_NO_TOOLS = msgspec.Raw(b"[]")


class Decoder(Generic[S]):
    """Decodes a struct, after checking the number of values.

    Decoding holds the interpreter lock for 90 to 500 ns a value: four million names in 16 MiB take
    0.36 s of CPU time, in a thread as well. Skipping raw JSON takes a tenth of that. So a body that
    may have too many values is first outlined (each field raw), and only then decoded.
    """

    def __init__(self, shape: type[S]) -> None:
        self._decode = msgspec.json.Decoder(shape).decode
        self.fields = shape.__struct_fields__
        raws = [(name, msgspec.Raw, ABSENT) for name in self.fields]
        self._outline: Any = msgspec.json.Decoder(msgspec.defstruct("Outline", raws)).decode

    def __call__(self, body: bytes) -> S:
        """Decode a body.

        Raises:
            InvalidRequest: there are too many values.
            msgspec.ValidationError, msgspec.DecodeError: it is no such struct, or no JSON.
        """
        if len(body) <= MAX_VALUES or count_values(body) <= MAX_VALUES:
            return self._decode(body)
        outline = self._outline(body)
        raws = {name: getattr(outline, name) for name in self.fields}
        raws = {name: raw for name, raw in raws.items() if not is_absent(raw)}
        _check(body, raws)
        # The tools stay raw, so they need not be skipped a second time.
        tools = {name: raws[name] for name in TOOLS & raws.keys()}
        rest = raws | dict.fromkeys(tools, _NO_TOOLS)
        return msgspec.structs.replace(self._decode(msgspec.json.encode(rest)), **tools)


decoder_of: Callable[[Any], Any] = cache(Decoder)
"""Returns the decoder of a shape, made once."""


def _check(body: bytes, fields: dict[str, msgspec.Raw]) -> None:
    """Check the values outside tools and texts.

    Raises:
        InvalidRequest: there are too many; the error names the field with the most.
    """
    in_fields = sum(count_values(memoryview(raw)) for raw in fields.values())
    left = {
        name: count_values_outside_texts(memoryview(raw))
        for name, raw in fields.items()
        if name not in TOOLS
    }
    total = count_values(body) - in_fields + sum(left.values())
    if total > MAX_VALUES:
        most = max(left, key=left.__getitem__, default="body")
        path = most if left.get(most) else "body"
        raise refuse_field(path, f"at most {MAX_VALUES} values outside the tools, got {total}")


def decode(body: bytes, decoder: Callable[[bytes], T]) -> T:
    """Decode an envelope.

    What no decoder reads is checked, too: one that skips a field does not see that it is no text.

    Raises:
        Refused: it is not JSON in UTF-8, or a field is of the wrong type or out of bounds.
    """
    try:
        if not body.isascii():
            body.decode()
        return decoder(body)
    except (msgspec.ValidationError, *NOT_JSON) as error:
        raise decode_error(body, error) from None


def decode_checked(body: bytes, shape: type[S]) -> S:
    """Decode an envelope of a shape, in which no field may be misspelt.

    Raises:
        Refused: it is not JSON, or a field is of the wrong type or out of bounds.
        InvalidRequest: a field is nearly one of ours, also where that is why one is missing.
    """
    decoder: Decoder[S] = decoder_of(shape)
    with suppress(*NOT_JSON, msgspec.ValidationError):  # of what is no object, `decode` says why
        check_spelling(find_unknown_fields(body, decoder.fields), decoder.fields)
    return decode(body, decoder)
