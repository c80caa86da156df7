"""Models that stream, and clients that read streams with the real SDKs."""

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any

import anthropic
import openai
import pytest

from tests.client.upstream import peer
from tests.turns.bedrock_streaming import bedrock_events, read_bedrock
from tests.turns.flows import Flow, Model
from tests.turns.gemini_streaming import gemini_events, read_gemini
from tests.turns.responses_streaming import read_responses, responses_events
from tests.turns.shapes import SHAPES, Json, Said, Shape
from toolscout.discovery import DiscoveryConfig, ToolDiscovery
from toolscout.turns.providers.stream import Stream

READING = Said("Reading.", (("call_2", "read_file", {"path": "/etc/hosts"}),))


def openai_events(said: Said, number: int = 0) -> list[bytes]:
    """Return a completion piece by piece: text and arguments by characters, usage, `[DONE]`."""
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": char} for char in said.text]
    for index, (id_, name, given) in enumerate(said.calls):
        function = {"name": name, "arguments": ""}
        call = {"index": index, "id": id_, "type": "function", "function": function}
        deltas.append({"tool_calls": [call]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": char}}]}
            for char in json.dumps(given)
        ]
    base = {"id": f"chat-{number}", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    chunks = [
        {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas
    ]
    finish = "tool_calls" if said.calls else "stop"
    chunks.append({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    chunks.append({**base, "choices": [], "usage": usage})
    events = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]
    return [*events, b"data: [DONE]\n\n"]


def think(number: int) -> Json:
    """Return the thought with which a message begins."""
    return {"type": "thinking", "thinking": f"thought {number}", "signature": f"signed {number}"}


def anthropic_events(said: Said, number: int = 0) -> list[bytes]:
    """Return a message with a thinking block first, then text, then calls, all in pieces."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    thought = think(number)
    message: Json = {"id": f"msg_{number}", "type": "message", "role": "assistant", "content": []}
    message |= {"model": "m", "stop_reason": None, "stop_sequence": None, "usage": usage}
    data: list[Json] = [{"type": "message_start", "message": message}, {"type": "ping"}]
    blocks: list[tuple[Json, list[Json]]] = [
        (
            {"type": "thinking", "thinking": "", "signature": ""},
            [
                {"type": "thinking_delta", "thinking": thought["thinking"]},
                {"type": "signature_delta", "signature": thought["signature"]},
            ],
        )
    ]
    if said.text:
        deltas: list[Json] = [{"type": "text_delta", "text": char} for char in said.text]
        blocks.append(({"type": "text", "text": ""}, deltas))
    for id_, name, given in said.calls:
        deltas = [{"type": "input_json_delta", "partial_json": c} for c in json.dumps(given)]
        blocks.append(({"type": "tool_use", "id": id_, "name": name, "input": {}}, deltas))
    for index, (block, deltas) in enumerate(blocks):
        data.append({"type": "content_block_start", "index": index, "content_block": block})
        data += [
            {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas
        ]
        data.append({"type": "content_block_stop", "index": index})
    stop = "tool_use" if said.calls else "end_turn"
    delta = {"stop_reason": stop, "stop_sequence": None}
    data.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 2}})
    data.append({"type": "message_stop"})
    return [
        b"event: " + item["type"].encode() + b"\ndata: " + json.dumps(item).encode() + b"\n\n"
        for item in data
    ]


EVENTS = {
    "openai": openai_events,
    "openai-responses": responses_events,
    "anthropic": anthropic_events,
    "bedrock": bedrock_events,
    "gemini": gemini_events,
}


class StreamingModel:
    """Streams one turn after the other, and keeps what it was sent."""

    def __init__(self, shape: Shape, *turns: Said | Exception, piece: int = 40) -> None:
        self.shape = shape
        self.turns = list(turns)
        self.piece = piece
        self.requests: list[Json] = []

    def __call__(self, request: Json) -> Iterator[bytes]:
        number = len(self.requests)
        self.requests.append(copy.deepcopy(request))
        said = self.turns[min(number, len(self.turns) - 1)]
        if isinstance(said, Exception):
            raise said
        whole = b"".join(EVENTS[self.shape.name](said, number))
        for start in range(0, len(whole), self.piece):
            yield whole[start : start + self.piece]

    def seen(self, turn: int) -> list[str]:
        return self.shape.names(self.requests[turn])


def read_until(shape: Shape, request: Json, events: Sequence[bytes], words: bytes) -> int:
    """Read a turn until words of it have come; return how many events the model has sent."""
    sent: list[bytes] = []

    def model(_: Json) -> Iterator[bytes]:
        for event in events:
            sent.append(event)
            yield event

    config = DiscoveryConfig(enabled=True, strategy="tool-search")
    out = ToolDiscovery(config).stream(request, model, shape.name)
    got = b""
    while words not in got:
        got += next(out)
    return len(sent)


def fed(stream: Stream, turns: Sequence[Sequence[bytes]], piece: int) -> bytes:
    """Return what the client gets when the model's bytes come in pieces of one size."""
    out = b""
    for number, events in enumerate(turns):
        if number:
            stream.next_turn()
        whole = b"".join(events)
        for start in range(0, len(whole), piece):
            out += stream.feed(whole[start : start + piece])
    return out + stream.finish()


def read(shape: Shape, stream: bytes) -> Said:
    """Return what the provider's own SDK makes of a stream."""
    headers = [("Content-Type", "text/event-stream")]
    with peer(lambda exchange: exchange.answer(stream, headers=headers)) as upstream:
        return READERS[shape.name](upstream.url)


def _openai(url: str) -> Said:
    with openai.OpenAI(api_key="none", base_url=url) as client:
        return _openai_turn(client)


def _openai_turn(client: openai.OpenAI) -> Said:
    text, usage = "", 0
    calls: dict[int, list[str]] = {}
    finish: list[str] = []
    ids: set[str] = set()
    messages: Any = [{"role": "user", "content": "x"}]
    for chunk in client.chat.completions.create(model="m", messages=messages, stream=True):
        ids.add(chunk.id)
        usage += chunk.usage is not None
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finish += [choice.finish_reason] if choice.finish_reason else []
            for call in choice.delta.tool_calls or []:
                known = calls.setdefault(call.index, ["", "", ""])
                known[0] += call.id or ""
                assert call.function is not None
                known[1] += call.function.name or ""
                known[2] += call.function.arguments or ""
    assert list(calls) == list(range(len(calls)))
    assert finish == ["tool_calls" if calls else "stop"]
    assert len(ids) == usage == 1
    return Said(text, tuple((i, name, json.loads(given)) for i, name, given in calls.values()))


def _anthropic(url: str) -> Said:
    messages: Any = [{"role": "user", "content": "x"}]
    with (
        anthropic.Anthropic(api_key="none", base_url=url) as client,
        client.messages.stream(model="m", max_tokens=9, messages=messages) as stream,
    ):
        message = stream.get_final_message()
    uses = [block for block in message.content if block.type == "tool_use"]
    assert message.stop_reason == ("tool_use" if uses else "end_turn")
    text = "".join(block.text for block in message.content if block.type == "text")
    return Said(text, tuple((use.id, use.name, use.input) for use in uses))


READERS = {
    "openai": _openai,
    "openai-responses": read_responses,
    "anthropic": _anthropic,
    "bedrock": read_bedrock,
    "gemini": read_gemini,
}


def events_of(out: bytes) -> list[Json]:
    """Return the data of the events of a stream, without the end of chat completions."""
    return [json.loads(line[6:]) for line in out.splitlines() if line.startswith(b"data: {")]


FORMS = [
    (shape, streams)
    for shape in SHAPES
    for streams in (False, True)
    if not streams or shape.name in EVENTS
]
in_every_form = pytest.mark.parametrize(
    ("shape", "streams"),
    FORMS,
    ids=[f"{shape.name}-{'stream' if streams else 'whole'}" for shape, streams in FORMS],
)
"""Run with every provider, whole and, where there are streams, as a stream."""


def turn(
    running: Flow, shape: Shape, request: Json, *turns: Said | Exception, streams: bool
) -> tuple[Said, Model | StreamingModel]:
    """Run a turn of a scripted model; return what the client reads, and the model."""
    if streams:
        model = StreamingModel(shape, *turns)
        return read(shape, b"".join(running.stream(request, model, shape.name))), model
    whole = Model(shape, *turns)
    return shape.read(running.complete(request, whole, shape.name)), whole
