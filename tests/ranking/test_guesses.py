"""A word that only looks like one of a tool is no match, and typing errors are still found."""

import random
from itertools import product
from string import ascii_lowercase

import pytest

from tests.catalogs import WORDS
from tests.support import compiled, select
from toolscout.index.expand import load_synonym_terms

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


def test_words_that_mean_nothing_get_nothing_for_being_near_to_one_of_many():
    """One edit from a word of a name is a typing error; two, or a distant meaning, are chance."""
    known = sorted(filter(str.isalpha, load_synonym_terms()))
    tools = [
        {"name": f"{one}_{other}", "description": f"Works with {third}"}
        for one, other, third in zip(known[::3], known[1::3], known[2::3], strict=False)
    ]
    catalog, chosen = compiled(tools), random.Random(2)
    texts = ["".join(map(chosen.choice, ("bdfgklmnprstvz", "aeiou") * 3)) for _ in range(200)]
    answered = [text for text in texts if select(catalog, text).outcome != "no_match"]
    assert len(answered) <= 80, answered


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("scheduuled", "schedule_"),
        ("archivved", "archive_"),
        ("compaared", "compare_"),
    ],
)
def test_a_typing_error_before_an_ending_is_found(text: str, name: str):
    assert name in select(TOOLS, text).names[0]


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
