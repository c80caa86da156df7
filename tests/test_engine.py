"""The selector as a library."""

import inspect
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from tests.support import TOOLS, Process
from toolscout import Engine
from toolscout.contract.requests import Context, Filters, SearchOptions, Session, Use
from toolscout.errors import ConfigurationError, InvalidRequest, ToolscoutError
from toolscout.ranking.ask import Ask


def test_search_selects_names():
    result = Engine(TOOLS).search("read a text file", top_k=1)
    assert result.names == ["read_file"]
    assert result.outcome == "match"
    assert result.ranker == "hybrid"
    assert result.matches == []
    assert result.counts.unique == len(TOOLS)
    assert result.counts.selected == 1


def test_engine_and_server_agree(server: Process):
    engine = Engine(TOOLS)
    for pattern in ("forecast", "createIssue", "^get_", "zxqv wvut", "a picture", "serch code"):
        for ranker in ("auto", "regex", "bm25", "semantic", "hybrid", "rrf", "okapi"):
            pins = ["send_email"]
            found = engine.search(pattern, 3, always_keep=pins, ranker=ranker).names
            assert found == server.names(pattern, top_k=3, always_keep=pins, ranker=ranker)


def test_explanations_come_when_asked_for():
    result = Engine(TOOLS).search("read_file", explain=True, always_keep=["send_email"])
    assert [match.name for match in result.matches] == result.names
    assert result.matches[0].reasons[0].via == "exact"
    assert result.matches[-1].pinned


def test_a_search_takes_what_a_request_takes(server: Process):
    engine, query = Engine(TOOLS), "send or read a message"
    limits = {"min_score": 0.02, "budget_tokens": 30, "detail": "brief"}
    found = engine.search(
        query,
        filters=Filters(exclude=("list_meetings",)),
        session=Session(recent=(Use("read_file", successes=2),)),
        context=Context(signals=("email", "inbox")),
        explain=True,
        **limits,
    )
    answer = server.search(
        query,
        filters={"exclude": ["list_meetings"]},
        session={"recent": [{"name": "read_file", "successes": 2}]},
        context={"signals": ["email", "inbox"]},
        explain=True,
        **limits,
    ).json()
    assert found.names == answer["selected_names"]
    assert msgspec.to_builtins(found.matches) == answer["matches"]
    assert msgspec.to_builtins(found.tools) == answer["tools"]
    assert engine.search(query).tools == []


@pytest.mark.parametrize("wrong", [{"min_score": 1.1}, {"min_score": -1}, {"budget_tokens": -1}])
def test_limits_out_of_bounds_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InvalidRequest, match=next(iter(wrong))):
        Engine(TOOLS).search("file", **wrong)


def test_names_resolve():
    engine = Engine([*TOOLS, {"name": "get-weather"}])
    assert engine.resolve("readFile") == ["read_file"]
    assert engine.resolve("disk.read_file") == ["read_file"]
    assert engine.resolve("GetWeather") == ["get-weather", "get_weather"]
    assert engine.resolve("red_file") == []
    assert engine.resolution("red_file").suggestions == ["read_file"]


@pytest.mark.parametrize(
    "carrier",
    [
        {"tools": TOOLS},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": TOOLS}},
        {"toolConfig": {"tools": [{"toolSpec": tool} for tool in TOOLS]}},
        [{"type": "web_search"}, *TOOLS],
    ],
    ids=["request", "MCP", "Bedrock", "with a built-in"],
)
def test_whatever_carries_tools_does(carrier: Any):
    assert Engine(carrier).search("weather forecast", top_k=1).names == ["get_weather"]


@pytest.mark.parametrize("nothing", ["tools", {"things": []}, {"tools": None}, None, 5])
def test_what_carries_no_tools_is_refused(nothing: Any):
    with pytest.raises(InvalidRequest, match="tools: expected a list"):
        Engine(nothing)


def test_an_empty_engine_answers():
    engine = Engine()
    assert engine.search("anything").names == []
    assert engine.search("anything").outcome == "no_match"
    assert engine.resolve("anything") == []


def test_tools_come_and_go():
    engine = Engine(TOOLS)
    engine.add([{"name": "bake_bread", "description": "Bake a sourdough loaf"}])
    assert engine.search("sourdough", top_k=1).names == ["bake_bread"]
    engine.remove(["bake_bread", "nowhere"])
    assert "bake_bread" not in engine.search("sourdough").names


def test_a_tool_of_a_known_name_replaces_it():
    engine = Engine(TOOLS)
    engine.add([{"name": "read_file", "description": "Bake a sourdough loaf"}])
    assert engine.search("sourdough", top_k=1).names == ["read_file"]
    assert len(engine.catalog) == len(TOOLS)


def test_of_a_name_that_a_list_has_twice_the_first_counts():
    again = {"name": "read_file", "description": "Bake a sourdough loaf"}
    assert Engine([*TOOLS, again]).catalog.digest == Engine(TOOLS).catalog.digest


def test_the_ranker_of_an_engine_is_a_default():
    engine = Engine(TOOLS, ranker="bm25")
    assert engine.search("forecast").ranker == "bm25"
    assert engine.search("forecast", ranker="semantic").ranker == "semantic"


def test_no_match_is_empty_or_the_pins():
    pins = ["send_email", "nowhere"]
    assert Engine(TOOLS).search("zxqv wvut", always_keep=pins).names == []
    engine = Engine(TOOLS, no_match="pins")
    assert engine.search("zxqv wvut", always_keep=pins).names == ["send_email"]


def test_a_step_in_ranking_is_noted():
    result = Engine(TOOLS).search("forecast (", ranker="regex")
    assert result.ranker == "keyword"
    assert result.notes


@pytest.mark.parametrize("tools", [[{}], [5], [{"name": 5}], [{"name": "a", "tags": 5}], ["name"]])
def test_tools_that_are_none_are_refused(tools: list):
    with pytest.raises(InvalidRequest, match=r"tools\[0\]"):
        Engine(tools)


def test_what_is_no_tool_beside_others_is_skipped_and_named(caplog: pytest.LogCaptureFixture):
    engine = Engine([*TOOLS, None, {"name": 5}, {"type": "web_search"}])
    result = engine.search("read a file")
    assert result.names[0] == "read_file"
    assert result.counts.skipped == 3
    place = f"tools[{len(TOOLS)}]"
    assert place in result.notes[0]
    assert place in caplog.text


def test_any_object_with_a_name_and_a_description_is_a_tool():
    schema = {"type": "object", "properties": {"loaf": {"description": "of sourdough"}}}
    baker = SimpleNamespace(name="bake", description="Bake it", input_schema=schema)
    engine = Engine([*TOOLS, baker, SimpleNamespace(name="rest", description=None)])
    assert engine.search("sourdough", top_k=1).names == ["bake"]
    assert engine.resolve("rest") == ["rest"]
    with pytest.raises(InvalidRequest, match=r"tools\[0\]"):
        Engine([SimpleNamespace(name="nameless", text="no description")])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ranker": "bm52"}, "did you mean bm25?"),
        ({"ranker": 5}, "ranker: expected one of auto"),
        ({"no_match": "pin"}, "did you mean pins?"),
        ({"no_match_below": 2}, "no_match_below must be within 0 to 1"),
        ({"max_tools": -1}, "max_tools must be at least 1, got -1"),
        ({"max_tools": "9"}, "max_tools must be a whole number, got '9'"),
    ],
)
def test_a_wrong_default_is_refused_at_once(options: dict[str, Any], said: str):
    with pytest.raises(InvalidRequest, match=re.escape(said)):
        Engine(TOOLS, **options)


@pytest.mark.parametrize(
    ("pattern", "options", "said"),
    [
        ("x", {"ranker": "hybird"}, "did you mean hybrid?"),
        ("x", {"detail": "breif"}, "did you mean brief?"),
        ("x", {"top_k": "5"}, "top_k must be a whole number, got '5'"),
        ("x", {"budget_tokens": 1.5}, "budget_tokens must be a whole number, got 1.5"),
        ("x", {"always_keep": "read_file"}, "always_keep: expected a list of names, got str"),
        (None, {}, "pattern: expected a text or a list of messages, got NoneType"),
        ({"role": "user"}, {}, "pattern: expected a text or a list of messages, got dict"),
        (b"x", {}, "got bytes"),
    ],
)
def test_a_wrong_question_says_what_is_right(pattern: Any, options: dict[str, Any], said: str):
    with pytest.raises(InvalidRequest, match=re.escape(said)):
        Engine(TOOLS).search(pattern, **options)


def test_all_errors_have_one_base():
    for wrong, code in ((("",), "empty_pattern"), (("\n\t",), "empty_pattern")):
        with pytest.raises(ToolscoutError) as refused:
            Engine(TOOLS).search(*wrong)
        assert refused.value.code == code
    with pytest.raises(InvalidRequest):
        Engine(TOOLS).search("x", 0)


def arguments_of(method: str) -> list[str]:
    """Return the arguments of a public method, options by name."""
    taken = inspect.signature(getattr(Engine, method)).parameters
    named = [name for name in taken if name not in ("self", "options")]
    return [*named, *(SearchOptions.__annotations__ if method == "search" else ())]


CALLS = [
    (method, argument)
    for method in ("__init__", *(name for name in vars(Engine) if not name.startswith("_")))
    if callable(getattr(Engine, method))
    for argument in arguments_of(method)
]


@pytest.mark.parametrize(("method", "argument"), CALLS)
def test_an_argument_of_a_wrong_type_is_refused_in_a_sentence(method: str, argument: str):
    engine = Engine(TOOLS)
    ask = Ask(pattern="file")
    good = {
        "tools": TOOLS,
        "names": ["read_file"],
        "name": "read_file",
        "pattern": "file",
        "catalog": engine.catalog,
        "ask": ask,
        "questions": [(engine.catalog, ask, {})],
        "decision": engine.decide(engine.catalog, ask),
        "explained": True,
    }
    right = {name: good[name] for name in arguments_of(method) if name in good}
    getattr(engine, method)(**right)
    for wrong in (object(), 3.5, b"x", [object()]):
        with pytest.raises((InvalidRequest, ConfigurationError), match=r"[a-z]+.* "):
            getattr(engine, method)(**right | {argument: wrong})


@pytest.mark.parametrize("method", ["resolve", "resolution"])
def test_a_list_of_names_is_no_name(method: str):
    with pytest.raises(InvalidRequest, match="name: expected a text, got list"):
        getattr(Engine(TOOLS), method)(["read_file"])


def test_a_text_is_no_list_of_names():
    engine = Engine(TOOLS)
    with pytest.raises(InvalidRequest, match="names: expected a list of names, got str"):
        engine.remove("read_file")
    engine.remove(name for name in ["read_file"])
    assert engine.resolve("read_file") == []


def test_an_openapi_document_or_a_file_of_one_is_a_list_of_tools(tmp_path: Path):
    paths = {
        "/pulls": {"post": {"operationId": "pulls/create", "summary": "Create a pull request"}}
    }
    document = {"openapi": "3.1.0", "paths": paths}
    path = tmp_path / "api.json"
    path.write_text(json.dumps(document), "utf-8")
    for given in (document, path):
        assert Engine(given).search("open a pull request").names == ["pulls_create"]
