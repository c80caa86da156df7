"""Tools of every shape: how they are named, sent, kept and hidden."""

import time
from typing import Any

import pytest

from tests.client.test_chaos import CAP_S, black_hole
from tests.client.upstream import NAMES, TOOLS, Exchange, peer
from tests.support import PATIENCE_S
from tests.tools.test_shapes import CASES, NAME
from toolscout.client import Reason
from toolscout.client.offer import Offer
from toolscout.tools.shapes import core_of


def read_file(exchange: Exchange) -> None:
    exchange.select("read_file", "search_code")


@pytest.mark.parametrize("case", sorted(CASES.keys() - {"declared"}))
def test_tools_of_any_shape_are_sent_and_come_back_as_they_were(make, case):
    with peer(lambda exchange: exchange.select(NAME)) as fake:
        selection = make(fake.url).select("x", [*TOOLS, CASES[case]])
    assert selection.tools[0] is CASES[case]
    sent = fake.requests[0].json["tools"][-1]
    assert sent["name"] == NAME
    assert isinstance(sent["definition"], dict)


def test_patterns_and_servers_are_sent_as_the_names_that_they_mean(make):
    names = ["github__open_pr", "github__merge", "mcp__slack__post", "slack_post", "read_file"]
    tools = [{"name": name, "description": name} for name in names]
    wanted = ["read_file", "server:Slack", "github__m*", "nowhere__*", "server:git", "server:"]
    with peer(read_file) as fake:
        make(fake.url).select("open a file", tools, top_k=4, always_keep=wanted)
    assert fake.requests[0].json["always_keep"] == [
        "read_file",
        "mcp__slack__post",
        "github__merge",
    ]


def test_minimal_definitions_hold_names_types_and_descriptions_only(make):
    tool = {
        "type": "function",
        "function": {
            "name": "deploy",
            "strict": True,
            "parameters": {
                "type": "object",
                "properties": {
                    "host": {"type": "string", "description": "Where", "default": "10.1.2.3"},
                    "tags": {"type": "array", "items": {"type": "string", "enum": ["secret"]}},
                },
                "required": ["host"],
            },
        },
    }
    with peer(read_file) as fake:
        make(fake.url, definition="minimal").select("x", [tool, *TOOLS])
        make(fake.url, definition="none").select("x", [tool, *TOOLS])
    minimal, none = (request.json["tools"][0] for request in fake.requests)
    assert minimal["definition"] == {
        "parameters": {
            "type": "object",
            "properties": {
                "host": {"type": "string", "description": "Where"},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
        }
    }
    assert none == {"name": "deploy"}


LABELS = {
    "risk": "destructive",
    "status": "unavailable",
    "tags": ["finance"],
    "namespace": "erp",
    "capabilities": ["delete"],
}


@pytest.mark.parametrize("definition", ["full", "minimal", "none"])
@pytest.mark.parametrize("schema", ["parameters", "input_schema", "inputSchema"])
def test_what_rights_go_by_is_sent_in_every_setting(make, definition: str, schema: str):
    hints = {"destructiveHint": True, "title": "Internal name"}
    tool = {"name": "wipe", schema: {"properties": {"host": {}}}, "annotations": hints} | LABELS
    with peer(read_file) as fake:
        make(fake.url, definition=definition).select("x", [tool, *TOOLS])
    sent = fake.requests[0].json["tools"][0]
    assert {key: sent[key] for key in LABELS} == LABELS
    assert sent["annotations"]["destructiveHint"] is True
    assert ("Internal name" in str(sent)) is (definition == "full")


STRICTEST = {
    "risk": "destructive",
    "status": "unavailable",
    "annotations": {"destructiveHint": True},
}


@pytest.mark.parametrize("definition", ["full", "minimal", "none"])
@pytest.mark.parametrize("field", STRICTEST)
@pytest.mark.parametrize("value", ["Destructive", "UNAVAILABLE", 5, [{"destructiveHint": True}]])
def test_what_restricts_and_is_not_understood_counts_as_the_strictest(
    make, definition: str, field: str, value: Any
):
    with peer(read_file) as fake:
        make(fake.url, definition=definition).select("x", [{"name": "odd", field: value}, *TOOLS])
    assert fake.requests[0].json["tools"][0][field] == STRICTEST[field]


@pytest.mark.parametrize(
    ("field", "value"),
    [("tags", "finance"), ("namespace", 7), ("source", {}), ("keywords", [1])],
)
def test_a_field_that_the_service_would_refuse_costs_no_list(make, field: str, value: Any):
    tool = {"name": "odd", "description": "Odd", field: value, "input_schema": {}}
    with peer(read_file) as fake:
        make(fake.url).select("x", [tool, *TOOLS])
    sent = fake.requests[0].json["tools"]
    assert len(sent) == len(TOOLS) + 1
    assert field not in sent[0]
    assert sent[0]["description"] == "Odd"


def test_a_redaction_decides_what_is_sent(make):
    def redact(tool: dict[str, Any]) -> dict[str, Any] | None:
        if tool["name"] == "deploy_app":
            return None
        return {"name": tool["name"], "description": tool.get("description", "").upper()}

    with peer(read_file) as fake:
        selection = make(fake.url, redact=redact).select("x", TOOLS)
    sent = fake.requests[0].json["tools"]
    assert "deploy_app" not in [tool["name"] for tool in sent]
    assert sent[0] == {"name": "search_code", "description": "SEARCH FOR CODE PATTERNS"}
    assert selection.names == ["read_file", "search_code"]


def test_a_redaction_works_on_a_copy(make):
    def strip(tool: dict[str, Any]) -> dict[str, Any]:
        tool["definition"]["input_schema"]["properties"].clear()
        tool["definition"].pop("description")
        return tool

    tool = {
        "name": "read_file",
        "description": "Read",
        "input_schema": {"properties": {"secret": {"type": "string"}}},
    }
    with peer(read_file) as fake:
        chosen = make(fake.url, redact=strip).select("x", [tool, tool | {"name": "b"}], 1).tools
    assert "secret" not in fake.requests[0].body.decode()
    assert chosen == [tool]
    assert tool["description"] == "Read"
    assert "secret" in str(tool)


def test_tools_that_were_sent_before_are_written_anew_for_another_selector(make):
    offer = Offer(TOOLS)
    with peer(read_file) as fake:
        make(fake.url).select("x", offer)
        make(fake.url, redact=lambda tool: {"name": tool["name"]}).select("x", offer)
    assert fake.requests[1].json["tools"] == [{"name": name} for name in NAMES]


def test_a_redaction_that_fails_sends_nothing_and_falls_open(make):
    def redact(tool: dict[str, Any]) -> dict[str, Any] | None:
        raise RuntimeError("no")

    with peer(read_file) as fake:
        selection = make(fake.url, redact=redact).select("x", TOOLS)
    assert selection.reason is Reason.API_ERROR
    assert selection.names == NAMES
    assert fake.requests == []


def test_tools_that_json_cannot_write_are_sent_as_far_as_it_can(make):
    loop: dict[str, Any] = {}
    loop["self"] = loop
    odd = [
        {"name": "circular", "description": "round", "input_schema": loop},
        {"name": "lone \ud800", "description": "surrogate"},
        {"name": "set", "input_schema": {"enum": {1}}},
        TOOLS[1],
    ]
    with peer(read_file) as fake:
        selection = make(fake.url).select("x \udfff", odd, top_k=3)
    sent = {tool["name"]: tool for tool in fake.requests[0].json["tools"]}
    assert set(sent) == {"circular", "set", "read_file"}
    assert "definition" not in sent["circular"]
    assert selection.names == ["read_file"]


@pytest.mark.parametrize("wrapper", ["toolSpec", "function", None])
def test_of_tools_that_share_a_name_the_first_counts_in_any_shape(make, wrapper):
    cores = [{"name": name, "description": str(n)} for n, name in enumerate("abac")]
    tools = [{wrapper: core} if wrapper else core for core in cores]
    selection = make(None).select("x", tools)
    assert selection.names == ["a", "b", "c"]
    assert [id(tool) for tool in selection.tools] == [id(tools[n]) for n in (0, 1, 3)]


def plain(name: str) -> dict[str, Any]:
    return {"name": name, "description": name}


@pytest.mark.parametrize(
    ("tools", "shown"),
    [
        ([{"toolSpec": plain("a")}, {"cachePoint": {}}, {"toolSpec": plain("b")}], "a-b"),
        ([{"type": "bash_1", "name": "bash"}, plain("a"), plain("b")], "-ab"),
        ([{"type": "web_search"}, plain("a"), plain("a")], "-a"),
        ([plain("a"), {"type": "x", **plain("b"), "parameters": {}}], "ab"),
        ([{"functionDeclarations": [plain("a")]}, {"toolSpec": plain("b")}], "ab"),
        ([{"googleSearch": {}}, {"functionDeclarations": [plain("a")]}], "-a"),
        ([{"functionDeclarations": [plain("a")], "x": 1}, plain("b")], "a-b"),
        ([plain("a"), {"functionDeclarations": [plain("b")]}, plain("c")], "abc"),
        ([{"definition": {"functionDeclarations": [plain("a")]}}, plain("b")], "ab"),
        ([plain("a"), {"name": "", "definition": {"functionDeclarations": [plain("b")]}}], "ab"),
        ([plain("a"), None, plain("b"), None, plain("a")], "a-b-"),
        (["name", plain("a"), {"toolSpec": plain("b")}, 7], "-ab-"),
    ],
)
def test_tools_of_mixed_shapes_are_told_apart(make, tools, shown):
    selection = make(None).select("x", tools)
    assert selection.names == [name for name in shown if name != "-"]
    names = [core_of(t).get("name") if isinstance(t, dict) else None for t in selection.tools]
    assert "".join(str(name) if name in selection.names else "-" for name in names) == shown


@pytest.mark.parametrize("settings", [{"definition": "full"}, {"definition": "none"}])
def test_what_is_added_to_an_entry_is_sent_with_each_function_that_it_declares(make, settings):
    entry = {"functionDeclarations": [plain("a"), plain("b")], "risk": "destructive"}
    with peer(read_file) as fake:
        make(fake.url, **settings).select("x", [*TOOLS, entry])
        make(fake.url, **settings).select("x", [*TOOLS, {"definition": entry}])
    for sent in fake.requests:
        risks = {tool["name"]: tool.get("risk") for tool in sent.json["tools"]}
        assert (risks["a"], risks["b"]) == ("destructive", "destructive")


def test_what_is_no_tool_stays_and_the_others_are_searched(make, caplog):
    with peer(read_file) as fake:
        selection = make(fake.url).select("open a file", [None, *TOOLS, "x", 7])
    assert selection.tools == [TOOLS[1], TOOLS[0], None, "x", 7]
    assert len(fake.requests[0].json["tools"]) == len(TOOLS)
    assert "tools[0, 7, 8]: no object with a name, and not searched" in caplog.messages


@pytest.mark.parametrize("odd", ["tools", b"tools", {"name": "a"}, 7, None, object])
def test_what_is_no_list_of_tools_passes_as_its_only_item(make, odd):
    with peer(read_file) as fake:
        selection = make(fake.url).select("open a file", odd)
    assert selection.tools == ([] if odd is None else [odd])
    assert not fake.requests


def test_as_many_tools_as_are_wanted_come_back_as_they_were(make):
    few = [TOOLS[3], {"type": "web_search"}, TOOLS[1]]
    with peer(read_file) as fake:
        selection = make(fake.url).select("open a file", few, top_k=2)
        assert (selection.tools, selection.fell_open) == (few, False)
        assert not fake.requests
        for fields in ({"filters": {"max_risk": "read_only"}}, {"max_risk": "read_only"}):
            selection = make(fake.url).select("open a file", few, top_k=2, fields=fields)
            assert selection.names == ["read_file"]


def test_a_redaction_that_takes_all_of_the_time_is_given_up(make, monkeypatch: pytest.MonkeyPatch):
    redacted: list[str] = []

    def now() -> float:
        return time.monotonic() + PATIENCE_S * len(redacted)

    def slow(tool: dict[str, Any]) -> dict[str, Any]:
        redacted.append(tool["name"])
        return tool

    monkeypatch.setattr("toolscout.client.encoding.monotonic", now)
    monkeypatch.setattr("toolscout.client.settings.monotonic", now)
    with peer(read_file) as fake:
        selector = make(fake.url, timeout=1.5 * PATIENCE_S, redact=slow)
        for _ in range(6):
            selection = selector.select("x", TOOLS)
            assert (selection.names, selection.attempts) == (NAMES, 0)
            assert selection.detail == "the tools took all of the time"
    assert len(redacted) == 12
    assert fake.requests == []
    assert selector.selector.breaker.failures == 0


def test_a_local_pick_has_its_time_when_the_service_says_nothing(
    make, monkeypatch: pytest.MonkeyPatch
):
    share = 1 - CAP_S / PATIENCE_S
    monkeypatch.setattr("toolscout.client.settings.PICK_S", PATIENCE_S)
    monkeypatch.setattr("toolscout.client.settings.PICK_SHARE", share)
    tools = [{"name": f"tool_{n}", "description": f"about number{n}"} for n in range(1_000)]
    with peer(black_hole) as fake:
        selection = make(fake.url, timeout=PATIENCE_S, fallback="relevance").select(
            "number7", tools
        )
        fake.stopping.set()
    assert selection.reason is Reason.API_ERROR
    assert selection.names == ["tool_7"]
