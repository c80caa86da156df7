"""How well the words of a tool's name are found in a query."""

import numpy as np

from tests.support import ENGINE, compiled, select
from toolscout.text.tokens import words

TOOLS = [
    {"name": "remove_picture", "description": "x"},
    {"name": "schedule_meeting", "description": "x"},
    {"name": "___", "description": "x"},
]


def likeness(query: str) -> dict[str, float]:
    catalog = compiled(TOOLS)
    assert ENGINE.embedder is not None
    assert catalog.name_vectors is not None
    telling = ENGINE.embedder.telling_tokens(ENGINE.embedder.token_ids(words(query)))
    found = catalog.name_vectors.likeness(ENGINE.embedder, telling, np.arange(len(catalog)))
    return dict(zip(catalog.names, found.tolist(), strict=True))


def test_a_name_is_found_by_words_that_mean_the_same():
    found = likeness("delete the photo")
    assert found["remove_picture"] > 0.4 > found["schedule_meeting"]


def test_a_name_that_is_spelled_out_is_found_whole():
    assert likeness("schedule a meeting")["schedule_meeting"] > 0.99


def test_a_name_without_words_is_found_nowhere():
    assert likeness("delete the photo")["___"] == 0.0


def test_a_query_without_known_words_is_answered_all_the_same():
    assert select(TOOLS, "zxqv", ranker="hybrid").outcome in ("no_match", "weak")
