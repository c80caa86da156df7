"""Streams of Bedrock: a model's events, and strict readers of them."""

import json
import struct
from zlib import crc32

import httpx2

from tests.turns.turns import Json, Said


def frame(kind: str, payload: Json, message: str = "event") -> bytes:
    """One event as the service writes it."""
    texts = {f":{message}-type": kind, ":content-type": "application/json"}
    texts[":message-type"] = message
    headers = b"".join(
        bytes([len(name)]) + name.encode() + b"\7" + struct.pack(">H", len(text)) + text.encode()
        for name, text in texts.items()
    )
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    whole = prelude + struct.pack(">I", crc32(prelude)) + headers + body
    return whole + struct.pack(">I", crc32(whole))


def unframed(stream: bytes) -> list[tuple[dict[str, str], Json]]:
    """Return the headers and payloads of a stream whose every check sum is right."""
    found = []
    while stream:
        total, size, check = struct.unpack_from(">III", stream)
        event, stream = stream[:total], stream[total:]
        assert check == crc32(event[:8])
        assert struct.unpack(">I", event[-4:])[0] == crc32(event[:-4])
        rest, headers = event[12 : 12 + size], {}
        while rest:
            name, kind = rest[1 : 1 + rest[0]].decode(), rest[1 + rest[0]]
            assert kind == 7
            at = 2 + rest[0]
            (length,) = struct.unpack_from(">H", rest, at)
            headers[name] = rest[at + 2 : at + 2 + length].decode()
            rest = rest[at + 2 + length :]
        found.append((headers, json.loads(event[12 + size : -4])))
    return found


def bedrock_events(said: Said, number: int = 0) -> list[bytes]:
    """Reasoning first, then text by characters, then calls, all in pieces."""
    thought = [{"text": f"thought {number}"}, {"signature": f"signed {number}"}]
    blocks: list[tuple[Json | None, list[Json]]] = [
        (None, [{"reasoningContent": piece} for piece in thought])
    ]
    if said.text:
        blocks.append((None, [{"text": char} for char in said.text]))
    for id_, name, given in said.calls:
        start = {"toolUse": {"toolUseId": id_, "name": name}}
        blocks.append((start, [{"toolUse": {"input": c}} for c in json.dumps(given)]))
    events = [frame("messageStart", {"role": "assistant", "p": "abc"})]
    for index, (begun, deltas) in enumerate(blocks):
        at = {"contentBlockIndex": index}
        if begun is not None:
            events.append(frame("contentBlockStart", {**at, "start": begun}))
        events += [frame("contentBlockDelta", {**at, "delta": delta}) for delta in deltas]
        events.append(frame("contentBlockStop", at))
    events.append(frame("messageStop", {"stopReason": "tool_use" if said.calls else "end_turn"}))
    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    events.append(frame("metadata", {"usage": usage, "metrics": {"latencyMs": 9}}))
    return events


def read_bedrock(url: str) -> Said:
    """Return what a client adds up; blocks are numbered without gaps, the message ends once."""
    events = [(h[":event-type"], data) for h, data in unframed(httpx2.get(url).content)]
    kinds = [kind for kind, _ in events]
    assert kinds[0] == "messageStart"
    assert kinds[-2:] == ["messageStop", "metadata"]
    assert (kinds.count("messageStart"), kinds.count("messageStop")) == (1, 1)
    indexes = [data["contentBlockIndex"] for kind, data in events if kind.startswith("content")]
    assert list(dict.fromkeys(indexes)) == list(range(max(indexes) + 1))
    text, calls = "", {}
    for kind, data in events:
        at, delta = data.get("contentBlockIndex"), data.get("delta", {})
        text += delta.get("text", "")
        if kind == "contentBlockStart":
            calls[at] = [*data["start"]["toolUse"].values(), ""]
        elif "toolUse" in delta:
            calls[at][2] += delta["toolUse"]["input"]
    assert events[-2][1]["stopReason"] == ("tool_use" if calls else "end_turn")
    return Said(text, tuple((id_, name, json.loads(given)) for id_, name, given in calls.values()))
