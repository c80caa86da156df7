"""Words the tools do not use are found by those they use instead."""

import pytest

from tests.support import ENGINE, compiled, select
from toolscout.contract.answers import Via
from toolscout.index.expand import load_synonym_terms
from toolscout.ranking.explain import explain

TOOLS = [
    {"name": "web_search", "description": "Search the web"},
    {"name": "remove_user", "description": "Delete an account"},
    {"name": "get_statistics", "description": "Mean and deviation of a sample"},
    {"name": "kubernetes_logs", "description": "Logs of a pod"},
]


def via(pattern: str, name: str) -> set[Via]:
    catalog = compiled(TOOLS)
    decision = select(catalog, pattern, ranker="bm25", top_k=len(TOOLS))
    match = next(match for match in explain(decision) if match.name == name)
    return {reason.via for reason in match.reasons}


@pytest.mark.parametrize(
    ("word", "synonym"),
    [("normal", "gaussian"), ("normal", "bell"), ("mean", "average"), ("read", "load")],
)
def test_synonyms_hold_both_ways(word: str, synonym: str):
    assert via_synonym(word, synonym)
    assert via_synonym(synonym, word)


def via_synonym(asked: str, written: str) -> bool:
    return select([{"name": f"x_{written}"}, {"name": "other"}], asked, ranker="bm25").names == [
        f"x_{written}"
    ]


def test_all_synonyms_are_mutual():
    table = load_synonym_terms()
    assert all(term in table[other] for term, others in table.items() for other in others)


def test_a_synonym_says_so_and_weighs_less_than_the_word():
    assert Via.SYNONYM in via("average", "get_statistics")
    tools = [
        {"name": "a_tool", "description": "mean"},
        {"name": "b_tool", "description": "average"},
    ]
    assert select(tools, "average", ranker="bm25").names == ["b_tool", "a_tool"]


@pytest.mark.parametrize("pattern", ["web serch", "web saerch", "wbe search", "statistcs"])
def test_mistyped_words_are_corrected_beside_right_ones(pattern: str):
    name = "get_statistics" if "stat" in pattern else "web_search"
    for ranker in ("bm25", "hybrid", "auto"):
        assert select(TOOLS, pattern, ranker=ranker).names[0] == name
    assert Via.FUZZY in via("statistcs", "get_statistics")


def test_a_right_word_beats_a_corrected_one():
    tools = [{"name": "kubernetis"}, {"name": "kubernetes"}]
    assert select(tools, "kubernetis", ranker="bm25").names[0] == "kubernetis"


def test_corrections_are_the_same_in_any_order():
    assert select(TOOLS, "serch").names == select(TOOLS[::-1], "serch").names


def test_a_word_of_the_language_is_not_corrected():
    tools = [{"name": "merlin_cast", "description": "Casts a spell"}]
    assert select(tools, "berlin", ranker="bm25").names == []


def test_the_beginning_of_a_word_finds_it():
    assert Via.PREFIX in via("kube", "kubernetes_logs")


@pytest.mark.parametrize("pattern", ["ab", "x", "zzzzzzzzzzzz", "qqqq wwww"])
def test_short_and_distant_words_find_nothing(pattern: str):
    assert select(TOOLS, pattern, ranker="bm25").names == []


def test_expansion_needs_no_model():
    assert ENGINE.embedder.is_word("berlin")
    assert not ENGINE.embedder.is_word("kubernetis")
