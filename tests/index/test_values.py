"""Counting the values of JSON in pieces, wherever a piece ends."""

import json

import pytest

from toolscout.index import values
from toolscout.index.values import count_values_outside_texts, is_deeper

TEXT = json.dumps([r"a\",[{", '"', "\\", '\\\\"', {"k": [1, 2]}, "\\" * 7 + '"[,'])
COMMAS_AND_BRACKETS = 9


@pytest.mark.parametrize("size", range(1, 20))
def test_values_are_counted_alike_in_pieces_of_any_size(size: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(values, "_PIECE", size)
    for kind in (bytes, bytearray, memoryview):
        assert count_values_outside_texts(kind(TEXT.encode())) == COMMAS_AND_BRACKETS
    assert is_deeper(TEXT.encode(), 2)
    assert not is_deeper(TEXT.encode(), 3)


def test_a_text_that_ends_within_an_escape_has_no_more_values():
    assert count_values_outside_texts(b'["\\') == 1
    assert count_values_outside_texts(b"") == 0
