"""What the evidence for a tool adds up to."""

import numpy as np
import pytest

from tests.support import ENGINE, TOOLS, compiled, crowd, select
from toolscout.contract.requests import Context
from toolscout.ranking.ask import Ask
from toolscout.ranking.pipeline import rank
from toolscout.ranking.scorers import boosted


@pytest.mark.parametrize("ranker", ["bm25", "semantic", "hybrid", "okapi"])
def test_a_boost_of_one_changes_no_score(ranker: str):
    catalog = compiled([*TOOLS, *crowd(10)])
    ranking = rank(catalog, Ask(pattern="read the file", ranker=ranker), ENGINE.embedder)
    unmoved = boosted(ranking, np.ones(len(catalog), np.float32))
    assert unmoved.tolist() == pytest.approx(ranking.scores.tolist(), abs=1e-6)


def test_a_tool_that_is_lowered_is_not_lost():
    tools = [
        {"name": "archive", "description": "予"},
        {"name": "table_index", "description": "archive archive"},
    ]
    context = Context(files=("Dockerfile", "a.tf"))
    assert select(tools, "cache", top_k=1).names == ["table_index"]
    assert select(tools, "cache", top_k=1, context=context).names == ["table_index"]


@pytest.mark.parametrize(
    ("other", "described"),
    [
        ("read_whole_file", "Read a file as text: the text of one file."),
        ("read_file", "Read a file as text."),
    ],
)
def test_the_longest_name_in_the_question_comes_first(other: str, described: str):
    files = [
        {"name": other, "description": described},
        {"name": "read_text_file", "description": "Return the contents of a file as text."},
        {"name": "write_file", "description": "Write a text to a file."},
    ]
    catalog = compiled([*files, *crowd(10)])
    ranking = rank(catalog, Ask(pattern="read a text file", ranker="hybrid"), ENGINE.embedder)
    best, second = np.argsort(-ranking.scores)[:2]
    assert [catalog.names[best], catalog.names[second]] == ["read_text_file", other]


def test_stop_words_of_a_name_do_not_outweigh_meaning():
    talk = ["what_can_you_do", "who_do_you_work_for", "do_you_have_pets", "are_you_a_bot"]
    work = ["recipe", "ingredients_list", "book_flight", "weather", "directions", "translate"]
    tools = [{"name": name} for name in (*talk, *work, "spending_history", "distance")]
    assert select(tools, "do i have enough flour for bread").names[0] == "recipe"
    assert select(tools, "do you have pets").names[0] == "do_you_have_pets"
