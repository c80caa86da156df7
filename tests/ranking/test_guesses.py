"""A word that only looks like one of a tool is no match, and typing errors are still found."""

import random
from itertools import product
from string import ascii_lowercase

import pytest

from tests.catalogs import WORDS
from tests.support import select

TOOLS = [
    {"name": f"{verb}_{noun}", "description": f"{verb.title()} one {noun} of a {place}"}
    for verb, noun, place in product(
        ["archive", "cancel", "compare", "export", "publish", "rename", "restore", "schedule"],
        ["branch", "calendar", "customer", "invoice", "ledger", "message", "picture", "playlist"],
        WORDS[:3],
    )
]


def test_random_letters_are_no_match():
    chosen = random.Random(1)
    words = ["".join(chosen.choices(ascii_lowercase, k=chosen.randint(4, 9))) for _ in range(400)]
    pairs = zip(words[::2], words[1::2], strict=True)
    matches = [pair for pair in pairs if select(TOOLS, " ".join(pair)).outcome == "match"]
    assert len(matches) <= 6, matches


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("cancle invoice", "cancel_invoice"),
        ("cancel invioce", "cancel_invoice"),
        ("publsh the playlist", "publish_playlist"),
        ("shedule message", "schedule_message"),
        ("custmer rename", "rename_customer"),
    ],
)
def test_typing_errors_are_found(text: str, name: str):
    decision = select(TOOLS, text)
    assert decision.names[0] == name
    assert decision.outcome in ("match", "weak")
