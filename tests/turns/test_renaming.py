"""Names and keys that a provider refuses go out clean, and callers get their own back."""

import json
from contextlib import suppress
from itertools import pairwise
from typing import Any

import httpx2
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.tools.test_renaming import ARGUMENTS, SCHEMAS, list_keys
from tests.turns.flows import DONE, Model, search
from tests.turns.shapes import ABOUT, BY_NAME, SHAPES, Json, Said, Shape
from tests.turns.streaming import EVENTS, events_of, in_every_form, openai_events, read, turn
from tests.turns.test_left_out import having, vendors
from toolscout.client.offer import Offer
from toolscout.discovery import Transport
from toolscout.tools.refused import RULES
from toolscout.tools.shapes import schema_of
from toolscout.turns.drivers.exchange import ProviderError
from toolscout.turns.drivers.written import MAX_SEARCHED_BYTES
from toolscout.turns.left_out import LeftOut, Upstream
from toolscout.turns.providers import PROVIDERS
from toolscout.turns.renaming import Renaming

OWN = "read calls, please"
CLEAN = "read_calls_please"
OWN_GIVEN = {"uids[]": [1, 2], "page": {"$top": 5, "_top": "other"}, "top": 7.0}
CLEAN_GIVEN = {"uids_": [1, 2], "page": {"top_": 5, "_top": "other"}, "top": 7.0}
PAGE = {"type": "object", "properties": {"$top": {"type": "integer"}}}
CALLS = {"type": "object", "properties": {"uids[]": {}, "page": PAGE}, "required": ["uids[]"]}


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every provider refuse keys, so that all shapes are tried."""
    for name, rules in RULES.items():
        monkeypatch.setitem(RULES, name, rules._replace(key=RULES["anthropic"].key))


def declared(shape: Shape) -> list[Json]:
    others = [shape.tool(name, about) for name, about in ABOUT.items()]
    return [*others, having(shape.tool(OWN, "Read calls"), CALLS)]


def asked(shape: Shape, **more: Any) -> Json:
    return shape.request("please read", declared(shape), **more) | vendors(shape)


def calling(name: str, given_: Json, id_: str = "call_2") -> Said:
    return Said("Reading.", ((id_, name, given_),))


streamed = pytest.mark.parametrize(
    "shape", [s for s in SHAPES if s.name in EVENTS], ids=lambda s: s.name
)

WAYS: dict[str, Json] = {
    "few": {"defer_above": 100},
    "declared": {"always_keep": [OWN]},
    "found": {},
    "dispatched": {"dispatch": "on"},
    "hybrid": {"strategy": "hybrid-first"},
    "local": {"strategy": "tool-search", "always_keep": [OWN]},
    "filtered": {"strategy": "relevance", "always_keep": [OWN]},
}


@in_every_form
@pytest.mark.parametrize("way", WAYS)
def test_the_caller_gets_its_own_names_and_keys(flow, shape: Shape, streams: bool, way: str):
    said = calling(CLEAN, CLEAN_GIVEN)
    if way == "dispatched":
        said = calling("call_tool", {"name": CLEAN, "arguments": CLEAN_GIVEN})
    turns = [search("read_calls", id_="call_1"), said] if way in ("found", "dispatched") else [said]
    got, model = turn(flow(**WAYS[way]), shape, asked(shape), *turns, streams=streams)
    assert got.calls == (("call_2", OWN, OWN_GIVEN),)
    assert got.text.endswith("Reading.")
    for sent in model.requests:
        assert "uids[]" not in json.dumps(sent)
        assert OWN not in json.dumps(sent)
    assert "uids_" in json.dumps(model.requests[-1])


NATIVE = {"anthropic": "claude-sonnet-4-5", "openai-responses": "gpt-5.4"}


@pytest.mark.parametrize("interface", NATIVE)
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
def test_a_model_that_loads_tools_loads_them_by_their_clean_names(flow, interface, streams):
    shape = BY_NAME[interface]
    request = asked(shape) | {"model": NATIVE[interface]}
    said = calling(CLEAN, CLEAN_GIVEN)
    got, model = turn(flow(strategy="hybrid-first"), shape, request, said, streams=streams)
    assert got.calls == (("call_2", OWN, OWN_GIVEN),)
    assert OWN not in json.dumps(model.requests)
    assert CLEAN in json.dumps(model.requests[0]["tools"])


def test_tools_that_a_later_request_leaves_out_are_known_by_their_own_names(flow, shape: Shape):
    running = flow(strategy="tool-search", always_keep=[OWN])
    model = Model(shape, DONE, calling(CLEAN, CLEAN_GIVEN))
    running.complete(asked(shape), model, shape.name, "a session")
    later = {key: one for key, one in asked(shape).items() if key not in ("tools", "toolConfig")}
    answer = running.complete(later, model, shape.name, "a session")
    assert shape.read(answer).calls == (("call_2", OWN, OWN_GIVEN),)
    assert OWN not in json.dumps(model.requests)


@in_every_form
def test_other_calls_of_the_same_answer_are_as_the_model_made_them(flow, shape, streams):
    ids = ("call_2", "call_3", "call_4")
    other = ("read_file", {"path": "a", "uids_": 1, "_top": 2})
    mine = (CLEAN, CLEAN_GIVEN)
    made = [(id_, *call) for id_, call in zip(ids, (other, mine, other), strict=True)]
    got, _ = turn(
        flow(defer_above=100), shape, asked(shape), Said("", tuple(made)), streams=streams
    )
    assert got.calls == (made[0], ("call_3", OWN, OWN_GIVEN), made[2])


def test_calls_in_the_history_go_out_as_the_model_made_them(flow, shape: Shape):
    """So that it reads one language, and the request before is the beginning of this one."""
    running = flow(defer_above=100)
    model = Model(shape, calling(CLEAN, CLEAN_GIVEN), DONE)
    answer = shape.read(running.complete(asked(shape), model, shape.name))
    later = shape.history(asked(shape), answer, ["ok"], "and now?")
    running.complete(later, model, shape.name)
    clean = shape.history(model.requests[0], calling(CLEAN, CLEAN_GIVEN), ["ok"], "and now?")
    history = PROVIDERS[shape.name].history
    assert _plain(history(model.requests[1])) == _plain(history(clean))
    running.complete(shape.history(later, DONE, [], "thanks"), model, shape.name)
    sent = _plain(history(model.requests[2]))
    assert sent[: len(history(later))] == _plain(history(model.requests[1]))


def _plain(messages: list[Any]) -> Any:
    """Return messages whose arguments are decoded, wherever they are texts."""
    written = json.dumps(messages)
    return json.loads(written.replace('\\"', "'").replace("': ", "':").replace(", ", ","))


def test_calls_of_a_tool_that_is_gone_have_a_name_that_is_taken(flow, shape: Shape):
    model = Model(shape, DONE)
    few = [shape.tool(name, about) for name, about in ABOUT.items()]
    request = shape.request("please", few) | vendors(shape)
    later = shape.history(request, calling("gone: one!", {"a": 1}), ["ok"], "and now?")
    flow(defer_above=100).complete(later, model, shape.name)
    assert "gone: one!" not in json.dumps(model.requests[0])
    assert "gone_one" in json.dumps(model.requests[0])


def test_a_tool_that_is_forced_is_forced_by_its_clean_name(flow, shape: Shape):
    calling_only = {"mode": "ANY", "allowedFunctionNames": [OWN]}
    forcing = shape.forcing(OWN) or {"toolConfig": {"functionCallingConfig": calling_only}}
    model = Model(shape, calling(CLEAN, CLEAN_GIVEN))
    request = shape.request("please", declared(shape), **forcing) | vendors(shape)
    answer = flow().complete(request, model, shape.name)
    assert shape.read(answer).calls == (("call_2", OWN, OWN_GIVEN),)
    assert OWN not in json.dumps(model.requests)
    assert CLEAN in shape.names(model.requests[0])


def test_names_that_would_be_the_same_are_told_apart(flow, shape: Shape):
    tools = [shape.tool(name, "Do it") for name in ("a!b", "a b", "a_b")]
    names = ["a_b_3", "a_b_2", "a_b"]
    made: tuple[tuple[str, str, Any], ...] = tuple((name, name, {}) for name in names)
    model = Model(shape, Said("", made))
    request = shape.request("please", tools) | vendors(shape)
    answer = flow(defer_above=100).complete(request, model, shape.name)
    assert model.seen(0) == names
    assert [name for _, name, _ in shape.read(answer).calls] == ["a!b", "a b", "a_b"]


def test_what_is_right_goes_out_and_comes_back_as_it_is(flow, shape: Shape):
    others = declared(shape)[:-1]
    request = shape.request("please", others) | vendors(shape)
    model = Model(shape, calling("read_file", {"uids_": 1}))
    answer = flow(defer_above=100).complete(request, model, shape.name)
    assert model.requests == [request]
    assert answer == shape.response(calling("read_file", {"uids_": 1}))


def test_a_compatible_server_gets_names_and_keys_as_they_are(flow):
    shape = BY_NAME["openai"]
    model = Model(shape, DONE)
    request = shape.request("please", declared(shape)) | {"model": "qwen3-32b"}
    flow(defer_above=100).complete(request, model, "openai")
    assert model.requests == [request]


def test_of_several_answers_none_can_be_given_back(flow, caplog):
    shape = BY_NAME["openai"]
    model = Model(shape, DONE)
    flow(defer_above=100).complete(asked(shape, n=2), model, "openai")
    assert model.seen(0) == [*ABOUT]
    assert f"tool {OWN!r} is left out" in caplog.text


def test_arguments_that_break_off_reach_the_caller():
    shape = BY_NAME["anthropic"]
    whole = b"".join(EVENTS[shape.name](calling(CLEAN, CLEAN_GIVEN)))
    ends = whole.rindex(b'"partial_json": "}"')
    broken = whole[:ends] + whole[ends:].replace(b'"partial_json": "}"', b'"partial_json": ""', 1)
    out = _feed(shape, broken, [], _rename(shape, CALLS))
    (given_,) = (
        one["delta"]["partial_json"] for one in events_of(out) if "partial_json" in str(one)
    )
    assert given_ == json.dumps(CLEAN_GIVEN)[:-1]
    assert f'"name":"{OWN}"'.encode() in out


def _rename(shape: Shape, schema: Json) -> Renaming:
    offer = Offer([having(shape.tool(OWN, "Read"), schema), shape.tool("read_file", "Read")])
    upstream = Upstream(shape.name, str(vendors(shape).get("model", "")))
    renaming = LeftOut().rename(offer, upstream)
    assert renaming is not None
    return renaming


def _feed(shape: Shape, whole: bytes, cuts: list[int], renaming: Renaming | None) -> bytes:
    stream = PROVIDERS[shape.name].open_stream("search_tools")
    if renaming is not None:
        stream.give_back(renaming.names, renaming.give_back_call)
    places = sorted({0, *(cut % len(whole) for cut in cuts), len(whole)})
    pieces = [whole[a:b] for a, b in pairwise(places)]
    return b"".join([*map(stream.feed, pieces), stream.finish()])


def _calls(shape: Shape, out: bytes) -> list[Any]:
    """Return the calls that a reader makes of a stream, with their arguments."""
    provider = PROVIDERS[shape.name]
    reader = provider.open_stream("search_tools")
    reader.feed(out)
    return [(call.id, call.name, call.arguments) for call in provider.calls(reader.response())]


@streamed
@given(data=st.data())
def test_however_a_stream_is_cut_the_caller_reads_its_own_calls(shape: Shape, data: st.DataObject):
    """As if the provider had taken its names and keys; other calls are the model's bytes."""
    schema = data.draw(SCHEMAS)
    renaming = _rename(shape, schema)
    cuts = data.draw(st.lists(st.integers(0, 10_000), max_size=8))
    own = []
    for number in range(data.draw(st.integers(1, 3))):
        name = data.draw(st.sampled_from([OWN, "read_file"]))
        own.append((f"c{number}", name, data.draw(ARGUMENTS)))
    clean_keys = list_keys(schema_of(renaming.offer.everything[0])) - list_keys(schema)
    assume(clean_keys.isdisjoint(list_keys([given_ for _, _, given_ in own])))
    clean = [(id_, *renaming.write_call(name, given_)) for id_, name, given_ in own]
    whole = b"".join(EVENTS[shape.name](Said("Hm.", tuple(clean))))
    out = _feed(shape, whole, cuts, renaming)
    assert _calls(shape, out) == own
    if all(name == "read_file" for _, name, _ in own):
        assert out == _feed(shape, whole, cuts, None)


@streamed
def test_only_a_renamed_call_is_held_back(shape: Shape):
    """Its caller has all that comes before it, and whatever comes after, as it comes."""
    stream = PROVIDERS[shape.name].open_stream("search_tools")
    renaming = _rename(shape, CALLS)
    stream.give_back(renaming.names, renaming.give_back_call)
    events = EVENTS[shape.name](calling(CLEAN, CLEAN_GIVEN))
    begins = next(number for number, one in enumerate(events) if CLEAN.encode() in one)
    plain = PROVIDERS[shape.name].open_stream("search_tools")
    for event in events[:begins]:
        assert stream.feed(event) == plain.feed(event)
    rest = b"".join(map(stream.feed, events[begins:])) + stream.finish()
    assert OWN.encode() in rest
    assert CLEAN.encode() not in rest


def test_a_stream_too_long_to_be_read_ends_in_an_error(flow):
    """Passed on unread, its calls would have the wrong names and keys."""
    shape = BY_NAME["openai"]
    text = openai_events(Said("x" * 50))[1].replace(b'"x"', b'"%b"' % (b"x" * 200_000))
    answer = [text] * (MAX_SEARCHED_BYTES // 200_000 + 1)
    out: list[bytes] = []
    with suppress(ProviderError):
        out = flow(defer_above=100).stream(asked(shape), lambda _: iter(answer), "openai")
    assert b'"error"' in out[-1]


ADDRESSES = {
    "openai": "https://api.openai.com/v1/chat/completions",
    "openai-responses": "https://api.openai.com/v1/responses",
    "anthropic": "https://api.anthropic.com/v1/messages",
    "bedrock": "https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent",
}
STREAMED = {
    "bedrock": ("converse", "converse-stream"),
    "gemini": (":generateContent", ":streamGenerateContent?alt=sse"),
}
KINDS = {"bedrock": "application/vnd.amazon.eventstream"}


@pytest.mark.parametrize(
    ("shape", "streams"),
    [(shape, streams) for shape in SHAPES if shape.name in EVENTS for streams in (False, True)],
)
@pytest.mark.parametrize("defer_above", [0, 100])
def test_over_the_wire_every_interface_gives_the_callers_own_back(
    shape: Shape, streams: bool, defer_above: int, service
):
    said = calling(CLEAN, CLEAN_GIVEN)
    sent: list[bytes] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.content)
        if not streams:
            return httpx2.Response(200, json=shape.response(said))
        kind = {"Content-Type": KINDS.get(shape.name, "text/event-stream")}
        return httpx2.Response(200, content=b"".join(EVENTS[shape.name](said)), headers=kind)

    body = asked(shape)
    address = ADDRESSES[shape.name]
    if streams:
        body |= {"stream": True}
        address = address.replace(*STREAMED.get(shape.name, ("", "")))
    transport = Transport(
        service.url, inner=httpx2.MockTransport(answer), defer_above=defer_above, always_keep=[OWN]
    )
    with httpx2.Client(transport=transport) as client:
        got = client.post(address, json=body)
    answered = read(shape, got.content) if streams else shape.read(got.json())
    assert answered.calls == (("call_2", OWN, OWN_GIVEN),)
    assert len(sent) == 1
    assert b"uids[]" not in sent[0]
