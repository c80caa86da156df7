"""What a selector sends, and what it makes of an answer."""

import json
from typing import Any

import pytest

from tests.client.upstream import NAMES, TOOLS, Exchange, peer
from toolscout.client import InvalidArgument, Reason, Selector
from toolscout.client.call import cut_to_latest
from toolscout.client.offer import Offer
from toolscout.contract.bounds import MAX_READ_CHARS
from toolscout.discovery import ToolDiscovery, Transport


def read_file(exchange: Exchange) -> None:
    exchange.select("read_file", "search_code")


def asked(fake) -> list[dict[str, Any]]:
    return [request.json for request in fake.requests]


def test_a_selection_has_the_names_in_order_and_the_callers_own_objects(make):
    with peer(read_file) as fake:
        selection = make(fake.url).select("open a file", TOOLS, top_k=2)
    assert selection.names == ["read_file", "search_code"]
    assert selection.tools[0] is TOOLS[1]
    assert selection.tools[1] is TOOLS[0]
    assert not selection.fell_open
    assert selection.reason is None
    assert selection.attempts == 1


def test_the_request_is_the_contract(make):
    with peer(read_file) as fake:
        make(fake.url, "secret-key").select(
            "open a file", TOOLS[:4], top_k=3, always_keep=["read_file", "nowhere"]
        )
    request = fake.requests[0]
    assert request.path == "/v1/tool-discovery/search"
    assert request.headers["authorization"] == "Bearer secret-key"
    assert request.headers["x-request-id"]
    assert request.json == {
        "pattern": "open a file",
        "top_k": 3,
        "always_keep": ["read_file"],
        "tools": [
            {"name": t["name"], "description": t["description"], "definition": t} for t in TOOLS[:4]
        ],
    }


@pytest.mark.parametrize("timeout", [0.5, 0.8])
def test_a_caller_with_little_time_says_how_much(make, timeout: float):
    with peer(lambda exchange: exchange.select("read_file")) as fake:
        make(fake.url, timeout=timeout).select("x", TOOLS)
        make(fake.url, timeout=timeout).select("x", TOOLS, fields={"latency_budget_ms": 7})
    said, own = (request.json["latency_budget_ms"] for request in fake.requests)
    assert 0.5 <= said / (1_000 * timeout) <= 0.6
    assert own == 7


@pytest.mark.parametrize("timeout", [1.0, 5])
def test_a_patient_caller_leaves_the_budget_to_the_service(make, timeout: float):
    with peer(lambda exchange: exchange.select("read_file")) as fake:
        make(fake.url, timeout=timeout).select("x", TOOLS)
    assert "latency_budget_ms" not in fake.requests[0].json


def test_an_endpoint_with_a_path_is_used_as_it_is(make):
    with peer(read_file) as fake:
        make(fake.url + "/api/compress/tool-discovery/").select("x", TOOLS)
        make(fake.url + "/").select("x", TOOLS)
    assert [request.path for request in fake.requests] == [
        "/api/compress/tool-discovery/",
        "/v1/tool-discovery/search",
    ]


@pytest.mark.parametrize("pattern", ["", "  \n\t "])
def test_a_blank_pattern_falls_open_without_a_request(make, pattern):
    with peer(read_file) as fake:
        selection = make(fake.url).select(pattern, TOOLS)
    assert selection.reason is Reason.EMPTY_QUERY
    assert selection.names == NAMES
    assert fake.requests == []


def test_no_tools_select_nothing_without_a_request(make):
    with peer(read_file) as fake:
        selection = make(fake.url).select("open a file", [])
    assert selection.names == []
    assert not selection.fell_open
    assert fake.requests == []


def test_headers_of_the_answer_are_read(make):
    def answer(exchange: Exchange) -> None:
        chosen = "6->1; ranker=keyword; cache=miss; outcome=weak; degraded=keyword"
        exchange.select(
            "read_file", headers=[("X-Tool-Selection", chosen), ("X-Request-Id", "abc-1")]
        )

    with peer(answer) as fake:
        selection = make(fake.url).select("open a file", TOOLS)
    assert (selection.outcome, selection.degraded) == ("weak", "keyword")
    assert selection.request_id == "abc-1"
    assert selection.names == ["read_file"]


def test_a_header_that_says_nonsense_is_not_repeated(make):
    def answer(exchange: Exchange) -> None:
        said = f"outcome=whatever; degraded={'x' * 500}"
        exchange.select("read_file", headers=[("X-Tool-Selection", said)])

    with peer(answer) as fake:
        selection = make(fake.url).select("open a file", TOOLS)
    assert selection.outcome is None
    assert len(selection.degraded) == 32


def test_a_no_match_falls_open_even_with_pins_in_the_answer(make):
    def answer(exchange: Exchange) -> None:
        exchange.select("read_file", headers=[("X-Tool-Selection", "6->1; outcome=no_match")])

    with peer(answer) as fake:
        selection = make(fake.url).select("zxqv", TOOLS, always_keep=["read_file"])
    assert selection.reason is Reason.EMPTY_SELECTION
    assert selection.names == NAMES


def test_pins_that_an_answer_forgot_are_kept_but_not_in_place_of_the_match(make):
    with peer(read_file) as fake:
        selector = make(fake.url)
        two = selector.select("x", TOOLS, top_k=2, always_keep=["run_tests"])
        one = selector.select("x", TOOLS, top_k=1, always_keep=["run_tests"])
    assert two.names == ["read_file", "run_tests"]
    assert one.names == ["read_file"]


def test_the_relevance_fallback_keeps_the_tools_that_share_words(make):
    selection = make(None, fallback="relevance").select(
        "search for code patterns", TOOLS, top_k=2, always_keep=["run_tests"]
    )
    assert set(selection.names) == {"search_code", "run_tests"}
    assert selection.fell_open
    assert selection.reason is Reason.MISSING_API_ENDPOINT


def test_the_relevance_fallback_keeps_everything_when_no_word_is_shared(make):
    selection = make(None, fallback="relevance").select("zxqv", TOOLS, always_keep=["run_tests"])
    assert selection.names == NAMES


@pytest.mark.parametrize(
    ("arguments", "reason", "detail"),
    [
        ((5, TOOLS), "empty_query", "pattern: expected a text or the parts of a message, got int"),
        (
            (None, TOOLS),
            "empty_query",
            "pattern: expected a text or the parts of a message, got NoneType",
        ),
        (([5], TOOLS), "empty_query", "pattern: expected a text or the parts of a message"),
        (([{"type": "image"}], TOOLS), "empty_query", "the pattern is blank"),
        (("x", TOOLS, 5, 7), "api_error", "always_keep: expected a collection of names, got int"),
        (
            ("x", TOOLS, 5, [7]),
            "api_error",
            "always_keep: expected a collection of names, got list",
        ),
        (("x", TOOLS, 5, "read_file"), "api_error", "always_keep: expected a collection of names"),
    ],
)
def test_an_argument_of_the_wrong_type_falls_open_and_says_which(make, arguments, reason, detail):
    with peer(read_file) as fake:
        selection = make(fake.url).select(*arguments)
    assert (selection.fell_open, selection.reason, selection.tools) == (True, reason, TOOLS)
    assert selection.detail.startswith(detail)
    assert not fake.requests


@pytest.mark.parametrize("fields", [{"tools": []}, {"x": object()}, {1: 2}, "ranker"])
def test_fields_that_cannot_be_sent_fall_open(make, fields):
    with peer(read_file) as fake:
        selection = make(fake.url).select("x", TOOLS, fields=fields)
    assert (selection.reason, selection.detail[:7]) == (Reason.API_ERROR, "fields:")
    assert not fake.requests


@pytest.mark.parametrize(
    "parts",
    [
        [{"type": "text", "text": "send"}, {"type": "image"}, {"type": "text", "text": "mail"}],
        ({"type": "input_text", "text": "send"}, {"text": "mail"}),
    ],
)
def test_the_parts_of_a_message_ask_with_their_texts(make, parts):
    with peer(read_file) as fake:
        assert make(fake.url).select(parts, TOOLS).names == ["read_file", "search_code"]
    assert asked(fake)[0]["pattern"] == "send\nmail"


@pytest.mark.parametrize("rollout", ["on", "dark"])
def test_a_list_that_fits_says_that_nothing_was_asked(make, rollout, caplog):
    caplog.set_level("INFO", "toolscout.client")
    with peer(read_file) as fake:
        selection = make(fake.url, rollout=rollout).select("x", TOOLS[:4], top_k=5)
    assert not fake.requests
    assert (selection.fell_open, selection.reason) == (False, "few_tools")
    assert (selection.names, selection.tools) == (NAMES[:4], TOOLS[:4])
    assert selection.chosen == (NAMES[:4] if rollout == "dark" else None)
    (line,) = caplog.messages
    told = {"on": "kept all 4 tools: no more than 5 tools", "dark": "would have selected 4 of 4"}
    assert told[rollout] in line


class Duck:
    name = "quack"
    description = "Say what a duck says"


def test_any_object_with_a_name_and_a_description_is_a_tool(make):
    with peer(lambda exchange: exchange.select("quack")) as fake:
        duck = Duck()
        assert make(fake.url).select("quack", [*TOOLS, duck]).tools == [duck]
    assert asked(fake)[0]["tools"][-1]["description"] == Duck.description


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (Selector, "time_out", "time_out: is no argument of Selector; did you mean timeout?"),
        (ToolDiscovery, "apikey", "apikey: is no argument of ToolDiscovery; did you mean api_key?"),
        (Transport, "allways_keep", "did you mean always_keep?"),
        (Selector, "zzzz", "zzzz: is no argument of Selector"),
    ],
)
def test_a_misspelt_argument_is_refused_with_the_nearest(kind, given, message):
    with pytest.raises(InvalidArgument) as raised:
        kind("http://127.0.0.1:9", **{given: 3})
    assert message in str(raised.value)
    assert "did you mean" in message or "did you mean" not in str(raised.value)


WRONG: dict[str, list[Any]] = {
    "timeout": [0, float("nan"), "2s", 1e10],
    "fallback": ["none", ["all"]],
    "definition": ["some"],
    "redact": ["all"],
    "rollout": ["half", "percent:150", None],
    "api_key": ["two\nlines", 5],
    "endpoint": [8080],
    "observers": [print, [print, 5], "log"],
    "breaker": ["x"],
    "max_connections": [0, -1, "x", True],
    "verify": ["ca.pem"],
}


@pytest.mark.parametrize("setting", WRONG)
def test_a_selector_is_not_made_from_wrong_settings(setting):
    for value in WRONG[setting]:
        with pytest.raises(InvalidArgument, match=setting):
            Selector(**{setting: value})


@pytest.mark.parametrize("top_k", [None, 0, -1, 2.5, "3", True])
def test_a_count_that_makes_no_sense_is_the_default(make, top_k):
    with peer(read_file) as fake:
        make(fake.url).select("x", TOOLS, top_k=top_k)
    assert fake.requests[0].json["top_k"] == 5


def test_of_a_long_pattern_the_beginning_and_the_end_are_sent(make):
    pattern = "first " + "x" * 600_000 + " last"
    with peer(read_file) as fake:
        make(fake.url).select(pattern, TOOLS)
    sent = fake.requests[0].json["pattern"]
    assert len(sent) == MAX_READ_CHARS
    assert sent.startswith("first ")
    assert sent.endswith(" last")


def test_both_answers_of_the_proxies_are_read(make):
    def answer(exchange: Exchange) -> None:
        exchange.answer(
            json.dumps({"success": True, "data": {"relevant_tools": ["run_tests"]}}).encode()
        )

    with peer(answer) as fake:
        assert make(fake.url).select("x", TOOLS).names == ["run_tests"]


def test_tools_that_are_not_permitted_are_neither_sent_nor_returned(make):
    def permit(name: str) -> bool:
        if name == "create_db":
            raise RuntimeError("who knows")
        return name != "read_file"

    with peer(read_file) as fake:
        selector = make(fake.url, permit=permit)
        chosen = selector.select("x", TOOLS, top_k=2)
        open_ = selector.select(" ", TOOLS)
    assert chosen.names == ["search_code"]
    sent = [tool["name"] for tool in fake.requests[0].json["tools"]]
    assert sent == open_.names == ["search_code", "deploy_app", "send_email", "run_tests"]
    assert [tool["name"] for tool in open_.tools] == open_.names


def test_a_tool_that_is_permitted_no_more_is_not_sent_again(make):
    permitted, offer = set(NAMES), Offer(TOOLS)
    with peer(read_file) as fake:
        selector = make(fake.url, permit=permitted.__contains__)
        selector.select("x", offer, top_k=2)
        permitted.remove("deploy_app")
        selector.select("x", offer, top_k=2)
    sent = [[tool["name"] for tool in request.json["tools"]] for request in fake.requests]
    assert sent == [NAMES, [name for name in NAMES if name != "deploy_app"]]


def test_a_long_run_of_an_agent_keeps_its_question():
    question = {"role": "user", "content": "read the file"}
    calls = [{"type": "function_call", "name": f"t{number}"} for number in range(300)]
    sent = cut_to_latest([question, *calls])
    assert sent == [question, *calls[-255:]]
    assert cut_to_latest([question, *calls[:9]]) == [question, *calls[:9]]
