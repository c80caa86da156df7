"""The same rules, over the wire."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.catalogs import catalogs, distinct_catalogs, patterns, rankers
from tests.conftest import ZENITH
from tests.support import TOOLS, Server, crowd


@given(sent=catalogs(), pattern=patterns, top_k=st.integers(1, 6), ranker=rankers)
@settings(max_examples=60)
def test_every_answer_keeps_the_rules(server: Server, sent, pattern, top_k, ranker):
    pins = [tool["name"] for tool in sent[:2]]
    response = server.search(pattern, sent, top_k=top_k, ranker=ranker, always_keep=pins)
    assert response.status_code == 200, response.text
    body = response.json()
    assert list(body) == ["selected_names"]
    chosen = body["selected_names"]
    assert set(chosen) <= {tool["name"] for tool in sent}
    assert len(chosen) == len(set(chosen)) <= top_k


@given(sent=distinct_catalogs(), pattern=patterns, chance=st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_reordering_the_tools_gives_the_same_bytes(server: Server, sent, pattern, chance):
    shuffled = list(sent)
    chance.shuffle(shuffled)
    first, second = server.search(pattern, sent), server.search(pattern, shuffled)
    assert first.content == second.content
    assert first.headers["x-catalog-digest"] == second.headers["x-catalog-digest"]


def test_thousands_of_tools_twice_in_any_order(server: Server):
    sent = crowd(3_000, "widget") + TOOLS
    answers = set()
    for seed in range(3):
        shuffled = list(sent)
        random.Random(seed).shuffle(shuffled)
        answers.add(server.search("translate text into french", shuffled + shuffled).content)
    assert len(answers) == 1
    assert b'["translate_text"' in answers.pop()


def test_one_irrelevant_tool_more_never_drops_an_exact_name(server: Server):
    for extra in range(0, 400, 80):
        tools = TOOLS + crowd(extra)
        assert server.names("now use createIssue please", tools, top_k=1) == ["create_issue"]


def test_every_process_gives_the_same_answer(server: Server, keyed: Server):
    tools = TOOLS + crowd(200, "shim")
    for pattern in ("read a file", "spin the shim around", "serch code", "weather|mail", "picture"):
        first = server.search(pattern, tools, explain=True).json()
        headers = {"x-api-key": ZENITH}
        second = keyed.search(pattern, tools, explain=True, headers=headers).json()
        for field in ("selected_names", "matches", "outcome", "counts", "catalog"):
            assert first[field] == second[field]
