"""A third voice: how the encoder's cosines count, whatever made them."""

import numpy as np
import pytest

from tests.support import ENGINE, TOOLS, compiled
from toolscout.contract.requests import Filters
from toolscout.index.catalog import Catalog
from toolscout.index.encoder import DIMENSION
from toolscout.ranking import fuse
from toolscout.ranking.ask import Ask, Decision
from toolscout.ranking.pipeline import decide, is_for_encoder, rank
from toolscout.ranking.scorers import boosted
from toolscout.text.conversation import Earlier

FIRST = min(tool["name"] for tool in TOOLS)
QUERY = "show me something about it"


def axis(row: int) -> np.ndarray:
    """Return a vector like that of one tool and of no other."""
    return np.eye(len(TOOLS), DIMENSION, dtype=np.float32)[row]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return compiled(TOOLS).with_encoded(np.eye(len(TOOLS), DIMENSION, dtype=np.float32))


def ask(catalog: Catalog, row: int = 0, degraded: str | None = None, **fields: object) -> Decision:
    asked = Ask(**{"pattern": QUERY, "ranker": "hybrid"} | fields)  # type: ignore[arg-type]
    return decide(catalog, asked, ENGINE.embedder, degraded=degraded, encoder_vector=axis(row))


@pytest.mark.parametrize("row", range(len(TOOLS)))
def test_the_tool_that_the_encoder_wants_gains_its_share(catalog: Catalog, row: int):
    wanted, other = ask(catalog, row).ranking, ask(catalog, row - 1).ranking
    assert wanted.ran == "hybrid+encoder"
    assert wanted.scores[row] - other.scores[row] >= fuse.ENCODER_WEIGHT - 1e-6


def test_a_cheaper_ranker_goes_without(catalog: Catalog):
    found = ask(catalog, degraded="bm25", pattern="read a file")
    assert found.ranking.ran == "bm25"


@pytest.mark.parametrize("ranker", ["bm25", "semantic", "rrf", "okapi"])
def test_other_rankers_go_without(catalog: Catalog, ranker: str):
    plain = decide(catalog, Ask(pattern="read a file", ranker=ranker), ENGINE.embedder)
    found = ask(catalog, ranker=ranker, pattern="read a file")
    assert found.ranking.ran == ranker
    assert found.ranking.scores.tolist() == plain.ranking.scores.tolist()


def test_tools_that_are_not_encoded_are_ranked_without():
    plain = compiled(TOOLS)
    assert ask(plain, pattern="read a file").ranking.ran == "hybrid"
    assert not is_for_encoder(plain, Ask(pattern="read a file"), ENGINE.embedder)


def test_what_may_not_be_selected_is_not(catalog: Catalog):
    kept = Filters(exclude=[FIRST])
    assert FIRST not in ask(catalog, 0, filters=kept, no_match_below=0.0).names


def test_the_outcome_is_judged_without_the_encoder(catalog: Catalog):
    for row in range(len(TOOLS)):
        assert ask(catalog, row, pattern="qwzx vbnm").outcome == "no_match"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, True),
        ({"ranker": "hybrid"}, True),
        ({"ranker": "bm25"}, False),
        ({"ranker": "semantic"}, False),
        ({"pattern": "read_.*"}, False),
        ({"pattern": "上海明天天气怎么样"}, False),
        ({"earlier": (Earlier("read a file", 0.5),)}, False),
    ],
)
def test_which_questions_the_encoder_is_asked(catalog: Catalog, fields: dict, expected: bool):
    asked = Ask(**{"pattern": "read a file"} | fields)
    assert is_for_encoder(catalog, asked, ENGINE.embedder) is expected


def test_a_boost_of_one_changes_no_score(catalog: Catalog):
    ranking = ask(catalog, pattern="read the file").ranking
    unmoved = boosted(ranking, np.ones(len(catalog), np.float32))
    before = rank(catalog, ranking.ask, ENGINE.embedder)
    assert before.ran == "hybrid"
    assert unmoved.tolist() == pytest.approx(ranking.scores.tolist(), abs=1e-6)


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_the_three_have_their_shares():
    lexical, cosine, encoded = floats(2, 0, 0), floats(0, 0.5, 0), floats(0, 0, 0.5)
    fused = fuse.with_encoder(lexical, cosine, encoded, None, 1.0)
    shares = 1 - fuse.STATIC_WEIGHT - fuse.ENCODER_WEIGHT, fuse.STATIC_WEIGHT, fuse.ENCODER_WEIGHT
    assert fused.tolist() == pytest.approx(shares)


def test_what_the_static_model_does_not_know_is_left_to_the_words():
    lexical, cosine, encoded = floats(2, 0), floats(0, 0.5), floats(0, 0)
    fused = fuse.with_encoder(lexical, cosine, encoded, None, 0.5)
    expected = 1 - fuse.STATIC_WEIGHT / 2 - fuse.ENCODER_WEIGHT, fuse.STATIC_WEIGHT / 2
    assert fused.tolist() == pytest.approx(expected)


def test_the_static_cosine_stands_for_a_missing_one():
    lexical, cosine, encoded = floats(0, 0), floats(0.6, 0.1), floats(0, 0.5)
    is_encoded = np.array([False, True])
    fused = fuse.with_encoder(lexical, cosine, encoded, is_encoded, 1.0)
    both = fuse.STATIC_WEIGHT + fuse.ENCODER_WEIGHT
    assert fused.tolist() == pytest.approx([both, fuse.ENCODER_WEIGHT])


def test_no_tools_have_no_scores():
    assert len(fuse.with_encoder(floats(), floats(), floats(), None, 1.0)) == 0
