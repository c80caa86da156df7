"""Match, weak and no match, and what the pins do in each."""

from pathlib import Path

import pytest

from tests.in_process import serving
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


def test_the_threshold_of_no_match_is_the_callers_to_set(server: Server):
    pattern = "read something about tomorrow's sky"
    usual = server.search(pattern, explain=True).json()
    best = max(match["score"] for match in usual["matches"])
    assert server.names(pattern, no_match_below=best) == usual["selected_names"]
    assert server.names(pattern, no_match_below=min(best + 0.01, 1)) == []
    assert server.names("read_file", no_match_below=1)[0] == "read_file"
    assert outcome(server.search("zxqv wvut", no_match_below=0)) == "no_match"


def test_the_threshold_is_a_setting(tmp_path: Path):
    with serving(tmp_path, no_match_below=1) as strict:
        assert strict.names("read a text file") == []
        assert strict.names("read a text file", no_match_below=0.02)[0] == "read_file"


CLUSTER = [
    {"name": "mcp.k8s.apply", "description": "Apply a manifest"},
    {"name": "mcp.s3.put", "description": "Put an object"},
    {"name": "invoke", "namespace": "lambda", "description": "Runs"},
]


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("restart the k8s pods", "mcp.k8s.apply"),
        ("tail logs k8s", "mcp.k8s.apply"),
        ("s3 lifecycle", "mcp.s3.put"),
        ("cold starts of our lambda", "invoke"),
    ],
)
def test_a_telling_word_in_a_name_or_namespace_is_at_least_weak(
    server: Server, pattern: str, name: str
):
    assert server.names(pattern, CLUSTER)[0] == name
    assert server.names(pattern, [tool for tool in CLUSTER if tool["name"] == name]) == [name]


def test_a_common_or_asking_word_in_a_name_tells_nothing(server: Server):
    tools = [{"name": f"get_thing_{number}", "description": "x"} for number in range(9)]
    assert server.names("get zxqv wvut", tools) == []
    assert server.names("thing zxqv wvut qqfp kkvd", tools, ranker="bm25") == []


def test_a_search_whose_pin_is_elsewhere_answers_the_nearest_tool(server: Server):
    tools = [{"name": "search_code", "description": "Search for code patterns"}]
    found = server.names("find files with auth middleware", tools, always_keep=["read_file"])
    assert found == ["search_code"]


ASIAN = [
    {"name": "sendMail", "description": "向指定的收件人发送电子邮件"},
    {"name": "getWeather", "description": "查询某个城市今天的天气预报"},
    {"name": "bookTrain", "description": "预订两个城市之间的火车票"},
    {"name": "translate", "description": "テキストを別の言語に翻訳します"},
    {"name": "playMusic", "description": "指定した曲を再生します"},
]


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("北京今天天气怎么样", "getWeather"),
        ("帮我买一张去上海的火车票", "bookTrain"),
        ("给经理发送一封电子邮件", "sendMail"),
        ("この文章を英語に翻訳してください", "translate"),
        ("音楽を再生して", "playMusic"),
    ],
)
def test_chinese_and_japanese_are_found_by_their_words(server: Server, pattern: str, name: str):
    assert server.names(pattern, ASIAN)[0] == name
    body = server.search(pattern, ASIAN, explain=True).json()
    assert body["selected_names"][0] == name
    assert server.names(pattern, ASIAN, ranker="bm25")[0] == name
