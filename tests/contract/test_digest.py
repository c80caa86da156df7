"""Catalogs have names made of their content, and no answer is of what was replaced."""

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ACME_NEW, ACME_OLD, ZENITH
from tests.contract.learning import LEARNING, tell
from tests.support import TOOLS, Server, crowd, problem_of


def digest_of(server: Server, tools: list) -> str:
    response = server.search(tools=tools)
    assert response.status_code == 200, response.text
    return response.headers["x-catalog-digest"]


def test_search_by_digest_gives_the_same_bytes(server: Server):
    inline = server.search("forecast", always_keep=["send_email"])
    digest = inline.headers["x-catalog-digest"]
    assert len(bytes.fromhex(digest)) == 32
    by_digest = server.search("forecast", catalog=digest, always_keep=["send_email"])
    assert by_digest.content == inline.content
    assert by_digest.headers["x-catalog-digest"] == digest
    assert "cache=hit" in by_digest.headers["x-tool-selection"]


@pytest.mark.parametrize("ranker", ["auto", "regex", "bm25", "semantic", "hybrid", "rrf", "okapi"])
def test_every_ranker_answers_by_digest(server: Server, ranker: str):
    digest = digest_of(server, TOOLS)
    by_digest = server.search("forecast", catalog=digest, ranker=ranker)
    assert by_digest.content == server.search("forecast", ranker=ranker).content


@pytest.mark.parametrize("catalog", ["0" * 64, "", "nonsense", "x" * 10_000, "ÿ\u0000"])
def test_unknown_digest_asks_for_the_tools(server: Server, catalog: str):
    body = {"pattern": "x", "catalog": catalog}
    problem_of(server.post(body), 404, "catalog_unknown")


def test_whitespace_between_tools_does_not_change_the_digest(server: Server):
    body = b'{ "pattern":"x", "tools" : [ {"name" : "a"} ,\n {"description":"d","name":"b"} ] }'
    spaced = server.post(body).headers["x-catalog-digest"]
    assert spaced == digest_of(server, [{"name": "a"}, {"name": "b", "description": "d"}])


def test_an_empty_catalog_has_a_digest(server: Server):
    digest = digest_of(server, [])
    assert server.search(catalog=digest).json() == {"selected_names": []}


def test_the_digest_header_of_a_request_is_only_a_hint(server: Server):
    other = digest_of(server, crowd(3, "sprocket"))
    response = server.search("forecast", headers={"x-catalog-digest": other})
    assert response.content == server.search("forecast").content
    assert response.headers["x-catalog-digest"] == digest_of(server, TOOLS)
    lonely = server.post({"pattern": "forecast"}, headers={"x-catalog-digest": other})
    problem_of(lonely, 422, "invalid_request")


def test_callers_at_once_share_one_answer(server: Server):
    tools = crowd(500, "grommet")
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(server.search, "spin grommet 42", tools) for _ in range(8)]
        responses = [ask.result() for ask in asked]
    assert {response.status_code for response in responses} == {200}
    assert len({response.content for response in responses}) == 1


def test_tenants_do_not_see_each_others_catalogs(keyed: Server):
    acme = {"authorization": f"Bearer {ACME_OLD}"}
    rotated = {"x-api-key": ACME_NEW}
    zenith = {"authorization": f"Bearer {ZENITH}"}
    tools = crowd(3, "cotter")
    digest = keyed.search(tools=tools, headers=acme).headers["x-catalog-digest"]
    assert keyed.search(catalog=digest, headers=rotated).status_code == 200
    problem_of(keyed.search(catalog=digest, headers=zenith), 404, "catalog_unknown")
    first = keyed.search(tools=tools, headers=zenith)
    assert "cache=miss" in first.headers["x-tool-selection"]
    assert keyed.search(catalog=digest, headers=zenith).status_code == 200


# A question that was asked before is never answered by what has been replaced since.


KEYS = st.sampled_from([ACME_OLD, ZENITH])
NAMES = [tool["name"] for tool in TOOLS]
QUESTIONS = st.sampled_from(["ship the parcel", "spin it around", "read a file"])
LISTS = [TOOLS, TOOLS[1:], [*TOOLS, {"name": "ship_parcel", "description": "Ship a parcel"}]]
NEVER_ASKED = count()

reports = st.builds(
    lambda key, pattern, tool, success: ("report", key, pattern, tool, success),
    *(KEYS, QUESTIONS, st.sampled_from(NAMES) | st.just("other_read_file"), st.booleans()),
)
steps = st.one_of(
    reports,
    reports,
    st.tuples(st.just("forget"), KEYS),
    st.tuples(st.just("put"), KEYS, st.integers(0, len(LISTS) - 1)),
)


def take(server: Server, step: tuple[Any, ...]) -> None:
    """Do what may change an answer."""
    what, key, *rest = step
    headers = {"x-api-key": key}
    if what == "report":
        pattern, tool, success = rest
        event = {"pattern": pattern, "tool": tool, "success": success}
        assert tell(server, event, key).status_code == 202
    elif what == "forget":
        assert server.client.delete(LEARNING, headers=headers).status_code == 204
    else:
        body = {"tools": LISTS[rest[0]]}
        put = server.client.put("/v1/catalogs/asked", json=body, headers=headers)
        assert put.status_code in (200, 201), put.text


def answer(server: Server, question: str, key: str, pins: list[str]) -> Any:
    fields = {"catalog": "asked", "explain": True, "always_keep": pins}
    body = server.post({"pattern": question} | fields, headers={"x-api-key": key}).json()
    return body["selected_names"], body["outcome"], body["matches"]


@given(taken=st.lists(steps, max_size=8), question=QUESTIONS)
def test_no_answer_is_older_than_a_report_a_deletion_or_new_tools(
    learning: Server, taken, question
):
    for key in (ACME_OLD, ZENITH):
        take(learning, ("forget", key))
        take(learning, ("put", key, 0))
    for step in taken:
        take(learning, step)
        for key in (ACME_OLD, ZENITH):
            repeated = answer(learning, question, key, [])
            # No tool has this name, so it changes nothing but that nobody has asked so.
            assert repeated == answer(learning, question, key, [f"no_tool_{next(NEVER_ASKED)}"])
