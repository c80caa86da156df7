"""Every question asked both ways: natively, and of Python alone."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import numpy as np

from tests.support import ENGINE
from toolscout.index.catalog import Catalog
from toolscout.ranking import pipeline
from toolscout.ranking.ask import Ask, DecideOptions, Decision
from toolscout.ranking.explain import add_evidence, explain, write_notes
from toolscout.ranking.native import extension

EVALS = Path(__file__).parents[1] / "evals"
ODD = (
    *"“”‘’«»„`'\"<#@…。！？.?!;:,_-/|",
    *("<x>", "#general", "a@b.io", "owner/some-name", "a/b", "0xdeadbeef01", "deadbeefcafe0123"),
    *("\n", "\n\n", "\t", "\u00a0", "\u2028", "don't", "do not", "never mind", "instead of"),
    *("no need to", "without", ". ", ", and ", " and then ", " also ", "create_issue", "call"),
    *("get-file-contents", "github.create_issue", "tool", "café", "naïve", "ﬁle", "Straße"),
    *("İstanbul", "wıthout", "дом", "создать", "файл", "öffne", "die", "Rechnung", "créer", "une"),
    *(
        "日本",
        "ファイル",
        "파일",
        "ไทย",
        "हिन्दी",
        "e\u0301",
        "x" * 64,
        "x" * 65,
        "A1b2C3",
        "getHTTPResponse",
    ),
    *("URLs", "IDs", "s3", "k8s", "order A-17", "user id 42", "file a bug", "turn it on", "set up"),
    *("٣", "²", "½", "☃", "😀", "\ud83d", "\x00", "\x1f", "__", "--", "please", "the", "a", "zxqv"),
)
"""Pieces of texts as nobody writes them."""


def read_lines(name: str) -> list[dict[str, Any]]:
    """Return the rows of a file of `evals`."""
    return [json.loads(line) for line in (EVALS / name).read_text("utf-8").splitlines()]


def read_questions() -> list[str]:
    """Return the questions that are in the repository, in all their languages."""
    rows = [
        row
        for name in ("everyday", "short", "questions")
        for row in read_lines(f"languages/{name}.jsonl")
    ]
    spoken = [text for row in rows for key, text in row.items() if key not in ("tools", "set")]
    texts = [text for text in spoken if isinstance(text, str)]
    return [*texts, *(row["text"] for row in read_lines("hard/requests.jsonl"))]


def make_odd(chance: Random, words: list[str]) -> str:
    """Return a text of words and odd pieces, in odd order, of any length."""
    share = chance.choice((0.05, 0.2, 0.5, 0.9))
    text = ""
    for _ in range(chance.choice((1, 2, 3, 5, 8, 15, 40, 120, 400))):
        text += chance.choice(ODD) if chance.random() < share else chance.choice(words)
        text += chance.choice((" ", " ", " ", " ", "  ", "", "\n", ". ", ", ", "-", "_"))
    return text


@contextmanager
def in_python() -> Iterator[None]:
    """Let Python alone rank meanwhile."""
    extension.switch(is_on=False)
    try:
        yield
    finally:
        extension.switch(is_on=True)


def compare(catalog: Catalog, ask: Ask, options: DecideOptions | None = None) -> bool:
    """Decide both ways, and check that nothing differs; return whether it was decided natively."""
    embedder = ENGINE.embedder
    made = pipeline.decide(catalog, ask, embedder, **options or {})
    said = _describe(made)
    with in_python():
        theirs = pipeline.decide(catalog, ask, embedder, **options or {})
        assert not theirs.ranking.is_joined
        assert said == _describe(theirs), ask.pattern[:300]
    apart = np.abs(made.ranking.scores - theirs.ranking.scores)
    assert apart.max(initial=0.0) <= 1e-6, ask.pattern[:300]
    return made.ranking.is_joined


def _describe(decision: Decision) -> tuple[Any, ...]:
    """Return all that a caller may learn of a decision."""
    ranking = decision.ranking
    return (
        decision.names,
        decision.outcome,
        decision.pinned,
        decision.degraded,
        decision.chained,
        ranking.ranker,
        explain(decision),
        write_notes(ranking),
        add_evidence(ranking),
        msgspec.structs.replace(ranking.query, hashed=None, may_divide=True),
        ranking.mentions,
        round(ranking.familiarity, 9),
    )
