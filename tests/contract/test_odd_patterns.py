"""No pattern is an error: long, broken, hostile or meaningless ones get an answer too."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import TOOLS, Server, select

RANKERS = ["auto", "regex", "bm25", "semantic", "hybrid"]

ODD = [
    "(",
    ")",
    "[",
    "a{",
    "a{1001}",
    "*",
    "+?",
    "\\",
    "(?P<x",
    "(?<=look)behind",
    "(?i)(?z)",
    r"\1",
    r"\p{Greek}",
    "[[:alpha:]]+",
    "^$",
    "|",
    "||",
    "a||b",
    ".",
    ".*",
    "(a+)+$",
    "(a|a)*b",
    "((a{1,100}){1,100}){1,100}",
    "(x+x+)+y" * 50,
    "%s%d{0}{name}${TOKEN}",
    "'; DROP TABLE tools; --",
    "<script>alert(1)</script>",
    "{}",
    "null",
    "\u0000",
    "\u0000read\u0000file",
    "\ufeff read",
    "\u202eelif daer",
    "e\u0301" * 100,
    "🔥" * 50,
    "𝓻𝓮𝓪𝓭 𝓯𝓲𝓵𝓮",
    "ﷺ" * 300,
    "\U0010ffff",
    "天気予報",
    "اقرأ الملف",
    "a" * 4_096,
    "a" * 100_000,
    "read " * 50_000,
    " " * 5_000 + "read a file",
    "read\nfile\r\n\tnow",
]


@pytest.mark.parametrize("ranker", RANKERS)
def test_odd_patterns_are_answered(server: Server, ranker: str):
    for pattern in ODD:
        response = server.search(pattern, ranker=ranker, always_keep=["send_email"], explain=True)
        assert response.status_code == 200, response.text
        body = response.json()
        assert set(body["selected_names"]) <= {tool["name"] for tool in TOOLS}
        assert (body["selected_names"] == []) == (body["outcome"] == "no_match")


@given(pattern=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60))
@settings(max_examples=60)
def test_any_text_is_answered(server: Server, pattern: str):
    response = server.search(pattern)
    assert response.status_code == (200 if pattern.strip() else 422), response.text


@given(st.from_regex(r"[a-z.*+?|()\[\]{}^$\\0-9,]{1,40}", fullmatch=True))
@settings(max_examples=60)
def test_anything_like_a_regex_is_answered(pattern: str):
    for ranker in ("regex", "auto"):
        names = select(TOOLS, pattern, ranker=ranker).names
        assert len(names) == len(set(names)) <= 5


@pytest.mark.parametrize("ranker", RANKERS)
def test_only_the_first_4096_characters_rank(server: Server, ranker: str):
    for tail in ["read a file", " | read", " read_file", ".*read", "("]:
        head = ("zxqv wvut " * 500)[:4_096]
        assert server.names(head + tail, ranker=ranker) == server.names(head, ranker=ranker)


def test_what_stands_within_4096_characters_ranks(server: Server):
    pattern = "read_file " + "zxqv " * 800
    assert server.names(pattern)[0] == "read_file"


def test_an_invalid_regex_is_read_as_words(server: Server):
    for pattern in ("weather (forecast", "weather [", "*weather", r"weather\1|forecast"):
        assert server.names(pattern)[0] == "get_weather"
        assert server.names(pattern, ranker="regex")[0] == "get_weather"


def test_a_regex_without_hits_is_read_as_words(server: Server):
    assert server.names("weather.*volcano")[0] == "get_weather"
    assert server.names("weather.*volcano", ranker="regex")[0] == "get_weather"


def test_regex_matches_are_capped_and_ordered_by_relevance(server: Server):
    tools = [{"name": f"tool_{n}", "description": "mentions code once"} for n in range(20)]
    tools += [{"name": "code_scan", "description": "code, code and code"}]
    names = server.names("code|scan", tools, top_k=3)
    assert len(names) == 3
    assert names[0] == "code_scan"


@pytest.mark.parametrize("ranker", ["auto", "regex"])
def test_regex_ignores_case_and_reads_every_field(server: Server, ranker: str):
    definition = {"input_schema": {"properties": {"zipCode": {"description": "Postal AREA"}}}}
    tools = [*TOOLS, {"name": "ship", "description": "Move it", "definition": definition}]
    for pattern in ("^SHIP.*it", "zip.*postal", "POSTAL.+area", r"\bzipcode\b"):
        assert server.names(pattern, tools, ranker=ranker) == ["ship"]


def test_a_word_is_not_found_inside_another(server: Server):
    tools = [
        {"name": "address_book", "description": "Improve the padding of addresses"},
        {"name": "sum_up", "description": "Add two numbers"},
    ]
    assert server.names("add", tools, ranker="bm25") == ["sum_up"]
    assert server.names("pr", tools, ranker="bm25") == []


def test_text_in_scripts_without_spaces_is_found(server: Server):
    tools = [
        {"name": "weather_jp", "description": "東京の天気予報を表示します"},
        {"name": "mail_cn", "description": "发送电子邮件给联系人"},
        {"name": "file_kr", "description": "파일을 검색합니다"},
    ]
    for pattern, name in [("天気予報", "weather_jp"), ("电子邮件", "mail_cn"), ("파일", "file_kr")]:
        assert server.names(pattern, tools)[0] == name
