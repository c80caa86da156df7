"""`explain: true`: scores, reasons, counts and timings, and nothing of it otherwise."""

import pytest

from tests.support import TOOLS, Server, crowd

VIA = {"exact", "alias", "prefix", "stem", "synonym", "fuzzy"}
VIA |= {"regex", "keyword", "semantic", "boost", "learned", "chain"}


def explained(server: Server, pattern: str, tools: list | None = None, **fields) -> dict:
    response = server.search(pattern, tools, explain=True, **fields)
    assert response.status_code == 200, response.text
    body: dict = response.json()
    return body


def reasons_of(body: dict, name: str) -> list[dict]:
    match = next(match for match in body["matches"] if match["name"] == name)
    reasons: list[dict] = match["reasons"]
    return reasons


@pytest.mark.parametrize("explain", [False, None])
def test_nothing_is_explained_unasked(server: Server, explain: bool | None):
    assert set(server.search(explain=explain).json()) == {"selected_names"}


def test_fields_of_an_explanation(server: Server):
    body = explained(server, "read a file", always_keep=["send_email"])
    asked = {"matches", "outcome", "ranker", "degraded", "counts", "timings_ms", "catalog"}
    assert asked | {"selected_names"} <= set(body)
    assert body["selected_names"] == server.names("read a file", always_keep=["send_email"])
    assert [match["name"] for match in body["matches"]] == body["selected_names"]
    for match in body["matches"]:
        assert set(match) == {"name", "score", "reasons", "pinned"}
        assert match["pinned"] == (match["name"] == "send_email")


def test_tokens_offered_selected_and_saved(server: Server):
    tokens = explained(server, "read a file", top_k=1)["tokens"]
    assert tokens["offered"] > tokens["selected"] > 0
    assert tokens["saved"] == tokens["offered"] - tokens["selected"]


def test_an_answer_without_tools_saves_nothing(server: Server):
    body = explained(server, "zxqv wvut")
    assert (body["outcome"], body["selected_names"]) == ("no_match", [])
    assert (body["tokens"]["selected"], body["tokens"]["saved"]) == (0, 0)


def test_explaining_changes_no_name(server: Server):
    for pattern in ("forecast", "^get_", "createIssue", "zxqv wvut", "a picture"):
        assert explained(server, pattern)["selected_names"] == server.names(pattern)


@pytest.mark.parametrize("ranker", ["auto", "regex", "bm25", "semantic", "hybrid", "rrf", "okapi"])
def test_scores_and_weights_are_shares(server: Server, ranker: str):
    for pattern in ["read text from a file", "get_weather", "weather|picture"]:
        body = explained(server, pattern, ranker=ranker)
        assert body["matches"]
        for match in body["matches"]:
            assert 0 <= match["score"] <= 1
            for reason in match["reasons"]:
                assert set(reason) == {"field", "term", "via", "weight"}
                assert reason["via"] in VIA
                assert 0 <= reason["weight"] <= 1


def test_word_reasons_come_strongest_first(server: Server):
    body = explained(server, "read the text of a file from disk", ranker="bm25")
    weights = [reason["weight"] for reason in reasons_of(body, "read_file")]
    assert len(weights) > 2
    assert weights == sorted(weights, reverse=True)


def test_counts(server: Server):
    body = explained(server, "read a file or a message", TOOLS + TOOLS[:3], top_k=2)
    assert body["counts"]["offered"] == len(TOOLS) + 3
    assert body["counts"]["unique"] == len(TOOLS)
    assert body["counts"]["selected"] == len(body["selected_names"]) == 2
    assert 2 <= body["counts"]["ranked"] <= len(TOOLS)


def test_a_function_word_alone_is_no_evidence(server: Server):
    tools = [{"name": f"zork_{n}", "description": "for the"} for n in range(20)]
    wanted = {"name": "read_barometer", "description": "Pressure of the air"}
    body = explained(server, "read the barometer", [*tools, wanted], ranker="bm25")
    assert body["counts"]["ranked"] == 1


def test_counts_of_a_hit_are_those_of_the_request(server: Server):
    tools = crowd(5, "ratchet")
    first = explained(server, "spin ratchet", tools + tools)["counts"]
    assert explained(server, "spin ratchet", tools + tools)["counts"] == first
    assert explained(server, "spin ratchet", tools)["counts"]["offered"] == 5


def test_headers_and_explanation_agree(server: Server):
    response = server.search("forecast", explain=True)
    body, selection = response.json(), response.headers["x-tool-selection"]
    assert body["catalog"] == response.headers["x-catalog-digest"]
    assert f"ranker={body['ranker']};" in selection
    assert f"outcome={body['outcome']};" in selection
    assert {"decode", "rank"} <= set(body["timings_ms"])
    assert all(spent >= 0 for spent in body["timings_ms"].values())


@pytest.mark.parametrize(
    ("pattern", "ranker", "name", "first"),
    [
        ("please run create_issue", "auto", "create_issue", ("name", "exact", "create_issue")),
        ("please run createIssue", "auto", "create_issue", (None, "alias", None)),
        ("please run create issue", "auto", "create_issue", (None, "alias", None)),
        ("please run Create-Issue", "auto", "create_issue", (None, "alias", None)),
        ("pictures", "bm25", "resize_image", ("description", "stem", "pictures")),
        ("calendar", "bm25", "list_meetings", ("description", "keyword", None)),
        ("rain and sunshine", "semantic", "get_weather", (None, "semantic", None)),
        ("send.*address", "auto", "send_email", (None, "regex", None)),
    ],
)
def test_the_first_reason_says_how_a_tool_was_found(
    server: Server, pattern: str, ranker: str, name: str, first: tuple[str | None, ...]
):
    body = explained(server, pattern, ranker=ranker)
    assert (body["ranker"] == "regex") == ("regex" in first)
    reason = reasons_of(body, name)[0]
    found = reason["field"], reason["via"], reason["term"]
    assert all(wanted in (None, has) for wanted, has in zip(first, found, strict=True))


@pytest.mark.parametrize("pattern", ["calendar (", "calendar.*nothing"])
def test_a_regex_that_was_read_as_words_says_so(server: Server, pattern: str):
    body = explained(server, pattern, ranker="regex")
    assert body["ranker"] == "keyword"
    assert {r["via"] for r in reasons_of(body, "list_meetings")} <= {"keyword", "stem", "synonym"}


def test_a_cached_answer_explains_alike(server: Server):
    tools = crowd(6, "spigot")
    first, second = (explained(server, "spin spigot 3", tools) for _ in range(2))
    assert first["matches"] == second["matches"]


def test_a_function_word_is_no_reason(server: Server):
    issue = {"name": "issue_assign", "description": "Tell about an issue"}
    spare = {"name": "spare", "description": "About nothing"}
    fields = {"ranker": "bm25", "always_keep": ["spare"]}
    body = explained(server, "an issue about it", [issue, spare, *crowd(20)], **fields)
    assert {reason["term"] for reason in reasons_of(body, "issue_assign")} == {"issue"}
    assert reasons_of(body, "spare") == []
