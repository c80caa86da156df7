"""What the evidence for a tool adds up to."""

import numpy as np
import pytest

from tests.support import ENGINE, TOOLS, compiled, crowd, select
from toolscout.ranking.ask import Ask
from toolscout.ranking.pipeline import rank
from toolscout.ranking.scorers import boosted


@pytest.mark.parametrize("ranker", ["bm25", "semantic", "hybrid", "okapi"])
def test_a_boost_of_one_changes_no_score(ranker: str):
    catalog = compiled([*TOOLS, *crowd(10)])
    ranking = rank(catalog, Ask(pattern="read the file", ranker=ranker), ENGINE.embedder)
    unmoved = boosted(ranking, np.ones(len(catalog), np.float32))
    assert unmoved.tolist() == pytest.approx(ranking.scores.tolist(), abs=1e-6)


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


def test_stop_words_of_a_name_outweigh_no_meaning():
    names = ["do_you_have_pets", "who_do_you_work_for", "recipe", "book_flight", "translate"]
    tools = [{"name": name} for name in names]
    assert select(tools, "do i have enough flour for bread").names[0] == "recipe"
    assert select(tools, "do you have pets").names[0] == "do_you_have_pets"
