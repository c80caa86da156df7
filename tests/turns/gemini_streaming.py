"""Streams of Gemini: a model's events, and what a reader of them adds up."""

import json
from base64 import b64encode

import httpx2

from tests.turns.turns import Json, Said


def gemini_events(said: Said, number: int = 0) -> list[bytes]:
    """Text by characters, then each call whole; the first call is signed, the last event ends."""
    parts: list[Json] = [{"text": char} for char in said.text]
    for place, (id_, name, given) in enumerate(said.calls):
        part: Json = {"functionCall": {"id": id_, "name": name, "args": given}}
        if place == 0:
            part["thoughtSignature"] = b64encode(f"signed {number}".encode()).decode()
        parts.append(part)
    base: Json = {"modelVersion": "m", "responseId": f"r{number}"}
    events = []
    for place, part in enumerate(parts or [{"text": ""}]):
        candidate: Json = {"content": {"role": "model", "parts": [part]}, "index": 0}
        if place >= len(parts) - 1:
            candidate["finishReason"] = "STOP"
        usage = {"promptTokenCount": 1, "candidatesTokenCount": place + 1}
        usage["totalTokenCount"] = place + 2
        events.append({"candidates": [candidate], "usageMetadata": usage, **base})
    return [b"data: " + json.dumps(event).encode() + b"\r\n\r\n" for event in events]


def gemini_chunks(out: bytes) -> list[Json]:
    """Return the responses of a stream."""
    return [json.loads(line[6:]) for line in out.splitlines() if line.startswith(b"data: ")]


def read_gemini(url: str) -> Said:
    """Return what a client adds up; it ends once, with the usage, and has one id."""
    chunks = gemini_chunks(httpx2.get(url).content)
    ends = ["finishReason" in candidate for c in chunks for candidate in c["candidates"]]
    assert ends == [False] * (len(chunks) - 1) + [True]
    assert "usageMetadata" in chunks[-1]
    assert len({chunk["responseId"] for chunk in chunks}) == 1
    parts = [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]
    called = [part for part in parts if "functionCall" in part]
    assert all("thoughtSignature" in part for part in called[:1])
    calls = [part["functionCall"] for part in called]
    text = "".join(part.get("text", "") for part in parts)
    return Said(text, tuple((call["id"], call["name"], call["args"]) for call in calls))
