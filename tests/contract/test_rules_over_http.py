"""The same rules, over the wire."""

from hypothesis import given
from hypothesis import strategies as st

from tests.catalogs import catalogs, distinct_catalogs, patterns, rankers
from tests.conftest import ZENITH
from tests.support import TOOLS, Server, crowd


@given(sent=catalogs(), pattern=patterns, top_k=st.integers(1, 6), ranker=rankers)
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
def test_reordering_the_tools_gives_the_same_bytes(server: Server, sent, pattern, chance):
    shuffled = list(sent)
    chance.shuffle(shuffled)
    first, second = server.search(pattern, sent), server.search(pattern, shuffled)
    assert first.content == second.content
    assert first.headers["x-catalog-digest"] == second.headers["x-catalog-digest"]


def test_every_process_gives_the_same_answer(server: Server, keyed: Server):
    tools = TOOLS + crowd(200, "shim")
    for pattern in ("read a file", "spin the shim around", "serch code", "weather|mail", "picture"):
        first = server.search(pattern, tools, explain=True).json()
        headers = {"x-api-key": ZENITH}
        second = keyed.search(pattern, tools, explain=True, headers=headers).json()
        for field in ("selected_names", "matches", "outcome", "counts", "catalog"):
            assert first[field] == second[field]
