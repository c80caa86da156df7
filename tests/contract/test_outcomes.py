"""Match, weak and no match, and what the pins do in each."""

import pytest

from tests.support import TOOLS, Server

WEB = [{"name": "web_search", "description": "Search the web"}, *TOOLS[1:]]


def outcome(response) -> str:
    return response.headers["x-tool-selection"].split("outcome=")[1].split(";")[0]


def test_shared_words_are_a_match(server: Server):
    assert outcome(server.search("read a text file")) == "match"


def test_a_meaning_without_a_shared_word_is_a_match(server: Server):
    response = server.search("find information online", WEB)
    assert response.json()["selected_names"][0] == "web_search"
    assert outcome(response) == "match"


@pytest.mark.parametrize("ranker", ["auto", "regex", "bm25", "semantic", "hybrid"])
def test_gibberish_is_no_match(server: Server, ranker: str):
    response = server.search("zxqv wvut", ranker=ranker, always_keep=["read_file"])
    assert response.content == b'{"selected_names":[]}'
    assert outcome(response) == "no_match"


def test_pins_alone_answer_a_no_match_when_so_configured(small: Server):
    tools = TOOLS[:3]
    response = small.search("zxqv wvut", tools, always_keep=["send_email", "nowhere"])
    assert response.json() == {"selected_names": ["send_email"]}
    assert outcome(response) == "no_match"


def test_rare_words_without_a_hit_only_lower_confidence(server: Server):
    response = server.search("read a text file zyzzyva")
    assert response.json()["selected_names"][0] == "read_file"
    assert outcome(response) in ("match", "weak")


def test_words_alone_are_the_evidence_of_bm25(server: Server):
    body = server.search("weather forecast", ranker="bm25", explain=True).json()
    assert body["selected_names"] == ["get_weather"]
    assert "semantic" not in {reason["via"] for reason in body["matches"][0]["reasons"]}


@pytest.mark.parametrize("others", [0, 1, 7])
def test_a_word_of_a_property_is_no_no_match(server: Server, others: int):
    definition = {"input_schema": {"properties": {"zipcode": {"type": "string"}}}}
    tools = [*TOOLS[:others], {"name": "ship", "description": "x", "definition": definition}]
    assert server.names("zipcode", tools)[:1] == ["ship"]


def test_meaning_alone_is_the_evidence_of_semantic(server: Server):
    body = server.search("weather forecast", ranker="semantic", explain=True).json()
    assert body["selected_names"][0] == "get_weather"
    for match in body["matches"]:
        assert {reason["via"] for reason in match["reasons"]} == {"semantic"}


def test_pins_come_after_the_matches(server: Server):
    names = server.names("read a file", always_keep=["send_email", "get_weather"])
    assert names[0] == "read_file"
    assert names[-2:] == ["send_email", "get_weather"]


def test_a_pin_that_matches_is_not_listed_twice(server: Server):
    names = server.names("read a file", always_keep=["read_file"], top_k=3)
    assert names.count("read_file") == 1


def test_pins_that_are_not_there_are_passed_over(server: Server):
    assert "submit_answer" not in server.names("read a file", always_keep=["submit_answer"])


def test_pins_never_take_the_last_slot_from_a_match(server: Server):
    assert server.names("read a file", always_keep=["send_email"], top_k=1) == ["read_file"]
    pins = ["send_email", "get_weather", "search_code"]
    names = server.names("read a file", always_keep=pins, top_k=3)
    assert names == ["read_file", "send_email", "get_weather"]


def test_pins_survive_an_invalid_regex(server: Server):
    names = server.names("read (a file", always_keep=["get_weather"], ranker="regex")
    assert names[0] == "read_file"
    assert names[-1] == "get_weather"
