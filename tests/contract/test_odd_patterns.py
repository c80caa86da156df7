"""No pattern is an error: long, broken, hostile or meaningless ones get an answer too."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import TOOLS, Server, select

RANKERS = ["auto", "regex", "bm25", "semantic", "hybrid"]


ODD = r"""
( ) [ a{ a{1001} * +? \ (?P<x (?<=look)behind (?i)(?z) \1 \p{Greek} [[:alpha:]]+ ^$ | || a||b . .*
(a+)+$ (a|a)*b ((a{1,100}){1,100}){1,100} %s%d{0}{name}${TOKEN} <script>alert(1)</script> {} null
𝓻𝓮𝓪𝓭 天気予報 اقرأ
""".split()
ODD += ["(x+x+)+y" * 50, "'; DROP TABLE tools; --", "\0", "\0read\0file", "\ufeff read"]
ODD += ["\u202eelif daer", "e\u0301" * 100, "🔥" * 50, "ﷺ" * 300, "a" * 4_096, "a" * 100_000]
ODD += ["\U0010ffff", "read " * 50_000, " " * 5_000 + "read a file", "read\nfile\r\n\tnow"]


@pytest.mark.parametrize("ranker", RANKERS)
def test_odd_patterns_are_answered(server: Server, ranker: str):
    for pattern in ODD:
        response = server.search(pattern, ranker=ranker, always_keep=["send_email"], explain=True)
        assert response.status_code == 200, response.text
        body = response.json()
        assert set(body["selected_names"]) <= {tool["name"] for tool in TOOLS}
        assert (body["selected_names"] == []) == (body["outcome"] == "no_match")


@given(pattern=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60))
def test_any_text_is_answered(server: Server, pattern: str):
    response = server.search(pattern)
    assert response.status_code == (200 if pattern.strip() else 422), response.text


@given(st.from_regex(r"[a-z.*+?|()\[\]{}^$\\0-9,]{1,40}", fullmatch=True))
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
