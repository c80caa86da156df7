"""BM25 is the textbook formula with a positive idf."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import select
from toolscout.index.bm25 import Postings
from toolscout.index.counts import TermCounts
from toolscout.index.okapi import PositiveOkapi
from toolscout.index.weighing import Bm25Weights

WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()
DESCRIPTION_ALONE = Bm25Weights(field=(0.0, 1.0, 0.0))


def postings(*texts: list[str], weights: Bm25Weights = DESCRIPTION_ALONE) -> Postings:
    return Postings([TermCounts.of(([], text, [])) for text in texts], weights)


def score(index: Postings, query: list[str]) -> list[float]:
    found: list[float] = index.score([(word, 1.0, None) for word in query]).bm25.tolist()
    return found


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=30)


@given(
    st.lists(texts, min_size=1, max_size=12),
    st.lists(st.sampled_from([*WORDS, "unseen"]), min_size=1, max_size=6, unique=True),
)
def test_agrees_with_rank_bm25(corpus: list[list[str]], query: list[str]):
    reference = PositiveOkapi(corpus, k1=1.2, b=0.75).get_scores(query)
    assert score(postings(*corpus), query) == pytest.approx(reference.tolist(), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("corpus", [[["alpha"]], [["alpha", "beta"], ["alpha"]]])
def test_agrees_for_one_and_two_tools(corpus: list[list[str]]):
    reference = PositiveOkapi(corpus, k1=1.2, b=0.75).get_scores(["alpha"]).tolist()
    assert score(postings(*corpus), ["alpha"]) == pytest.approx(reference, rel=1e-6, abs=1e-6)
    assert all(value > 0 for value in reference)


def test_a_word_that_every_tool_has_still_counts():
    assert all(value > 0 for value in score(postings(*[["alpha"]] * 5), ["alpha"]))


def test_no_tools_no_scores():
    assert score(postings(), ["alpha"]) == []


def test_tools_without_terms_score_nothing():
    assert score(postings([], ["alpha"], []), ["alpha"])[::2] == [0, 0]
    assert score(postings([], []), ["alpha"]) == [0, 0]


def test_rarer_words_weigh_more():
    index = postings(["alpha", "beta"], ["alpha", "gamma"], ["alpha", "gamma"])
    assert score(index, ["beta"])[0] > score(index, ["gamma"])[1] > score(index, ["alpha"])[0] > 0


def test_a_word_in_the_name_weighs_more_than_one_in_a_property():
    tools = [
        TermCounts.of(tuple(["alpha"] if i == n else ["beta"] for i in range(3))) for n in range(3)
    ]
    name, description, properties = score(Postings(tools), ["alpha"])
    assert name > description > properties > 0


def test_query_weights_scale_a_term():
    index = postings(["alpha"], ["beta"])
    once = index.score([("alpha", 1.0, None)]).bm25
    assert index.score([("alpha", 0.5, None)]).bm25.tolist() == pytest.approx((once / 2).tolist())


def test_coverage_is_the_share_of_the_query_a_tool_has_words_for():
    index = postings(["alpha", "beta"], ["alpha"], ["gamma"])
    scores = index.score([("alpha", 1.0, None), ("beta", 1.0, None)])
    shares = scores.covered / scores.total
    assert shares[0] == pytest.approx(1.0)
    assert 0 < shares[1] < 1
    assert shares[2] == 0


def test_unknown_words_lower_the_coverage_of_all():
    index = postings(["alpha"], ["beta"])
    known = index.score([("alpha", 1.0, None)])
    with_unknown = index.score([("alpha", 1.0, None), ("unseen", 1.0, None)])
    assert with_unknown.total > known.total > 0
    assert with_unknown.bm25.tolist() == known.bm25.tolist()


def test_a_hit_tells_its_fields():
    index = Postings([TermCounts.of((["alpha"], ["beta"], ["alpha"]))])
    hit = index.find("alpha", 0)
    assert hit is not None
    assert hit.fields == ["name", "properties"]
    assert index.find("unseen", 0) is None


def test_many_repetitions_in_a_long_text_stay_in_their_field():
    index = Postings([TermCounts.of((["alpha"], ["beta"] * 60_000, []))])
    alpha, beta = index.find("alpha", 0), index.find("beta", 0)
    assert alpha is not None
    assert beta is not None
    assert alpha.fields == ["name"]
    assert beta.fields == ["description"]


@pytest.mark.parametrize("pattern", ["add", "pr", "form", "at"])
def test_a_word_is_matched_whole(pattern: str):
    tools = [
        {"name": "improve_address", "description": "Performs a padding of formats"},
        {"name": "whole", "description": pattern},
    ]
    assert select(tools, pattern, ranker="bm25").names == ["whole"]


def test_a_vocabulary_made_beforehand_is_the_one_that_queries_use():
    texts = [["alpha", "beta"], ["gamma"]]
    prepared, asked = postings(*texts), postings(*texts)
    made = prepared.prepare()
    assert prepared.vocabulary is prepared.prepare() is made
    assert made.find_by_prefix("ga") == asked.vocabulary.find_by_prefix("ga") == ["gamma"]
