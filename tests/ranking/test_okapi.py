"""The ranker `okapi` is rank-bm25's, with an idf that is positive."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import TOOLS, Process, compiled, crowd, select
from toolscout.index.okapi import PositiveOkapi
from toolscout.text.query import analyse
from toolscout.text.tokens import analyse_terms

WORDS = ["read", "write", "file", "mail", "send", "weather", "city", "of", "the"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)


@given(st.lists(texts, min_size=1, max_size=8), texts)
def test_it_scores_as_rank_bm25_does(descriptions: list[str], query: str):
    tools = [
        {"name": f"t{number}", "description": text} for number, text in enumerate(descriptions)
    ]
    asked = list(dict.fromkeys(analyse_terms(query)))
    corpus = [analyse_terms(f"t{number} {text}") for number, text in enumerate(descriptions)]
    expected = PositiveOkapi(corpus).get_scores(asked).tolist()
    found = compiled(tools).texts.scores(analyse(query)).tolist()
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_only_the_words_of_the_query_count():
    tools = [{"name": "delete_file", "description": "Delete a file"}, *crowd(5)]
    assert select(tools, "erase", ranker="okapi").names == []
    assert select(tools, "erase", ranker="bm25").names == ["delete_file"]


def test_courtesy_does_not_make_a_good_tool_hopeless():
    tools = [{"name": name, "description": ""} for name in ("user_key", "user_id", "user_mail")]
    query = "i would like to user key for me"
    assert select([*tools, *crowd(30)], query, ranker="okapi").names[0] == "user_key"


def test_a_request_asks_for_it_by_name(server: Process):
    answer = server.search("read a file", ranker="okapi")
    assert "ranker=okapi" in answer.headers["x-tool-selection"]
    assert answer.json()["selected_names"][0] == "read_file"


def test_many_tools_are_indexed_beside_the_loop(server: Process):
    body = {"pattern": "read a file", "tools": [*TOOLS, *crowd(300)], "ranker": "okapi"}
    answer = server.post(body | {"latency_budget_ms": 60_000})
    assert answer.json()["selected_names"][0] == "read_file"


def test_above_three_thousand_tools_it_is_bm25_by_fields_and_says_so(server: Process):
    body = {"pattern": "read a file", "tools": [*TOOLS, *crowd(3_000)], "ranker": "okapi"}
    answer = server.post(body | {"latency_budget_ms": 60_000})
    assert answer.json()["selected_names"][0] == "read_file"
    assert "degraded=bm25" in answer.headers["x-tool-selection"]


@pytest.mark.parametrize(
    "tools",
    [
        [],
        [{"name": "!", "description": "..."}],
        [{"name": "read_file", "description": "Read a file"}],
        [{"name": "read_file"}, {"name": "send_mail"}],
    ],
)
def test_few_tools_are_found_as_many_are(tools: list[dict[str, str]]):
    names = select([*tools], "read a file", ranker="okapi").names
    assert names == [tool["name"] for tool in tools if tool["name"] == "read_file"]
