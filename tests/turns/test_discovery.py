"""The whole flow, for every provider: tools are deferred, found and brought back, unseen."""

import copy
import json
from typing import Any

import pytest

from tests.turns.flows import DONE, PHANTOM, Model, search
from tests.turns.shapes import ABOUT, Said, tools_of
from tests.turns.streaming import READING, in_every_form, turn
from toolscout.turns import local


def test_the_model_sees_the_search_tool_alone_and_then_what_it_found(flow, shape, tools):
    model = Model(shape, search("read code"), DONE)
    request = shape.request("please help", tools)
    before = copy.deepcopy(request)
    response = flow().complete(request, model, shape.name)
    assert model.seen(0) == [PHANTOM]
    assert model.seen(1) == [PHANTOM, "search_code", "read_file"]
    assert shape.raw(model.requests[1])[1:] == tools[:2]
    assert "read_file: Read file contents" in shape.results(model.requests[1])["call_1"]
    assert shape.read(response) == DONE
    assert request == before


@in_every_form
def test_a_call_of_a_found_tool_reaches_the_client(flow, shape, tools, streams):
    request = shape.request("please help", tools, **({"stream": True} if streams else {}))
    said, model = turn(flow(), shape, request, search("read"), READING, streams=streams)
    assert said == READING
    assert model.seen(1) == [PHANTOM, "read_file"]
    assert "read_file" in shape.results(model.requests[1])["call_1"]
    assert ('"stream": true' in json.dumps(model.requests[1])) == streams


def test_several_searches_in_one_turn_are_all_answered(flow, shape, tools):
    twice = Said(calls=(search("read").calls[0], search("email", "call_2").calls[0]))
    model = Model(shape, twice, DONE)
    flow().complete(shape.request("please help", tools), model, shape.name)
    assert model.seen(1) == [PHANTOM, "read_file", "send_email"]
    assert set(shape.results(model.requests[1])) == {"call_1", "call_2"}


def test_a_mixed_turn_whose_search_falls_open_gives_every_tool_back_next_time(flow, shape, tools):
    real = ("call_2", "read_file", {"path": "x"})
    both = Said(calls=(*search("anything").calls, real))
    model = Model(shape, both)
    discovery = flow(endpoint="http://127.0.0.1:9")
    request = shape.request("please help", tools)
    discovery.complete(request, model, shape.name)
    follow_up = shape.history(request, Said(calls=(real,)), ["done"], "and now?")
    discovery.complete(follow_up, model, shape.name)
    assert set(model.seen(1)) == {PHANTOM, *ABOUT}


@in_every_form
def test_a_model_that_searches_for_ever_is_told_and_keeps_its_tools(flow, shape, tools, streams):
    request = shape.request("please help", tools)
    said, model = turn(flow(), shape, request, search("read"), streams=streams)
    assert [model.seen(number) for number in (1, 5, 6)] == [[PHANTOM, "read_file"]] * 3
    assert len(model.requests) == 7
    told = [json.dumps(sent) for sent in model.requests]
    assert [each.count("made this search before") for each in told] == [0, 0, 1, 2, 3, 4, 5]
    assert [each.count("the last search of this turn") for each in told] == [0] * 5 + [1, 2]
    is_forbidden = '"none"' in told[6].lower()
    assert is_forbidden is (shape.name != "bedrock")  # which cannot say so
    assert '"none"' not in told[5].lower()
    assert said == Said()


@in_every_form
def test_where_the_configuration_restores_every_tool_is_there_after_five_searches(
    flow, shape, tools, streams
):
    request = shape.request("please help", tools)
    running = flow(restore_on_no_match=True)
    said, model = turn(running, shape, request, search("read"), streams=streams)
    assert len(model.requests) == 6
    assert model.seen(5) == list(ABOUT)
    assert said == Said()


def test_a_mixed_turn_gives_the_client_its_calls_and_the_next_request_what_was_found(
    flow, shape, tools
):
    running = flow()
    request = shape.request("please help", tools)
    first = Model(shape, search("tests"), Said(calls=(("call_2", "run_tests", {}),)))
    called = shape.read(running.complete(request, first, shape.name))
    follow_up = shape.history(request, called, ["ok"], "go on")
    mixed = Said("Both.", (("call_3", "run_tests", {}), search("email", "call_4").calls[0]))
    second = Model(shape, mixed)
    response = running.complete(follow_up, second, shape.name)
    assert len(second.requests) == 1
    assert shape.read(response) == Said("Both.", (("call_3", "run_tests", {}),))
    third = Model(shape, DONE)
    after = shape.history(follow_up, shape.read(response), ["ok"], "go on")
    running.complete(after, third, shape.name)
    assert third.seen(0) == [PHANTOM, "run_tests", "send_email"]


def test_found_tools_stay_for_the_session_and_for_no_other(flow, shape, tools):
    running = flow()
    one, other = (shape.request(text, tools) for text in ("please help", "something else"))
    answer = running.complete(one, Model(shape, search("read"), DONE), shape.name)
    again, elsewhere = Model(shape, DONE), Model(shape, DONE)
    for request, model in ((one, again), (other, elsewhere)):
        following = shape.history(request, shape.read(answer), [], "go on")
        running.complete(following, model, shape.name)
    assert again.seen(0) == [PHANTOM, "read_file"]
    assert elsewhere.seen(0) == [PHANTOM]


def test_sessions_of_different_users_are_kept_apart_by_scope(flow, shape, tools):
    running = flow()
    request = shape.request("hello", tools)
    running.complete(request, Model(shape, search("read"), DONE), shape.name, scope="alice")
    bob = Model(shape, DONE)
    running.complete(request, bob, shape.name, scope="bob")
    assert bob.seen(0) == [PHANTOM]


def test_tools_that_the_conversation_called_stay_even_where_the_session_is_lost(flow, shape, tools):
    called = Said(calls=(("call_1", "read_file", {}),))
    request = shape.history(shape.request("please help", tools), called, ["text"], "go on")
    model = Model(shape, DONE)
    flow().complete(request, model, shape.name)
    assert model.seen(0) == [PHANTOM, "read_file"]


def test_tools_the_client_no_longer_offers_do_not_come_back(flow, shape, tools):
    running = flow()
    running.complete(
        shape.request("please help", tools), Model(shape, search("read"), DONE), shape.name
    )
    model = Model(shape, DONE)
    rest = [tools[0], *tools[2:]]
    running.complete(shape.request("please help", rest), model, shape.name)
    assert model.seen(0) == [PHANTOM]


def test_found_tools_come_last(flow, shape, tools):
    model = Model(shape, search("tests"), search("email read", "call_2"), DONE)
    flow().complete(shape.request("please help", tools), model, shape.name)
    assert model.seen(2)[1:] == ["run_tests", "read_file", "send_email"]


def test_a_real_tool_of_the_same_name_is_left_alone(flow, shape, tools, caplog):
    tools.append(shape.tool(PHANTOM, "A real tool"))
    real = Said(calls=(("call_1", PHANTOM, {"x": 1}),))
    model = Model(shape, real)
    response = flow().complete(shape.request("please help", tools), model, shape.name)
    assert model.seen(0) == [f"{PHANTOM}_2"]
    assert shape.read(response) == real
    assert "exists" in caplog.text


def test_when_nothing_fits_the_model_is_told_so_and_what_there_is(flow, shape, tools):
    model = Model(shape, search("zxqv"), DONE)
    flow().complete(shape.request("please help", tools), model, shape.name)
    assert model.seen(1) == [PHANTOM]
    told = shape.results(model.requests[1])["call_1"]
    assert told.startswith("No tool fits this search. There are 6 tools, such as create_db,")


AWAY = "http://127.0.0.1:9"


@pytest.mark.parametrize("dispatch", ["off", "on"], ids=["emulated", "dispatch"])
@pytest.mark.parametrize(
    ("endpoint", "why"),
    [(None, "Nothing fits this query"), (AWAY, "The search gave no answer")],
    ids=["nothing fits", "outage"],
)
def test_that_nothing_fits_is_told_apart_from_an_outage(flow, shape, endpoint, why, dispatch):
    running = flow(endpoint=endpoint, restore_on_no_match=True, dispatch=dispatch)
    for count in (6, 200):
        about = {f"tool_{number}": "Does a thing" for number in range(count)}
        declared = tools_of(shape, about)
        model = Model(shape, search("zxqv"), DONE)
        running.complete(shape.request(f"please help {count}", declared), model, shape.name)
        told = shape.results(model.requests[1])["call_1"]
        takes_all = count == 6 or not shape.name.startswith("openai")
        expected = f"all {count} tools are available now."
        assert told.startswith(
            f"{why}; {expected if takes_all else 'these tools are available instead:'}"
        )


def test_a_service_that_is_gone_brings_every_tool_back(flow, shape, tools):
    model = Model(shape, search("read"), DONE)
    running = flow(endpoint="http://127.0.0.1:9")
    running.complete(shape.request("please help", tools), model, shape.name)
    assert model.seen(1) == [PHANTOM, *ABOUT]
    again = Model(shape, DONE)
    running.complete(shape.request("please help", tools), again, shape.name)
    assert again.seen(0) == [PHANTOM]


@pytest.mark.parametrize("arguments", [{}, {"query": 5}, "not json", {"a": "x", "b": "y"}])
def test_a_search_without_a_query_is_asked_for_one(flow, shape, tools, service, arguments):
    model = Model(shape, Said(calls=(("call_1", PHANTOM, arguments),)), search("read"), DONE)
    flow().complete(shape.request("please help", tools), model, shape.name)
    assert "The search had no query" in str(model.requests[1])
    assert [model.seen(turn) for turn in (1, 2)] == [[PHANTOM], [PHANTOM, "read_file"]]
    assert len(service.requests) == 1


@pytest.mark.parametrize("strategy", ["api", "hybrid-first"])
def test_no_tool_is_ranked_here_unless_the_service_is_away(flow, shape, monkeypatch, strategy):
    ranked: list[str] = []

    def spied(query: str, *args: Any, **limits: Any) -> Any:
        ranked.append(query)
        return filter_tools(query, *args, **limits)

    filter_tools = local.filter_tools
    monkeypatch.setattr(local, "filter_tools", spied)
    about = {f"tool_{number}": f"Does the thing of number {number}" for number in range(200)}
    tools = [shape.tool(name, text) for name, text in (about | ABOUT).items()]
    turns = search("read it"), Said(calls=(("call_r", "read_file", {"path": "x"}),))
    request = shape.request("read", tools)
    flow(strategy).complete(request, Model(shape, *turns), shape.name)
    assert ranked == []
    flow(strategy, "http://127.0.0.1:9").complete(request, Model(shape, *turns), shape.name)
    assert bool(ranked) == (shape.name in ("openai", "openai-responses"))  # which take 128
