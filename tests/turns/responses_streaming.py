"""Streams of OpenAI Responses: a model's events, and what the SDK reads."""

import json
from typing import Any

import openai

from tests.turns.turns import Json, Said

USAGE: Json = {
    "input_tokens": 1,
    "input_tokens_details": {"cached_tokens": 1},
    "output_tokens": 1,
    "output_tokens_details": {"reasoning_tokens": 1},
    "total_tokens": 2,
}


def responses_events(said: Said, number: int = 0) -> list[bytes]:
    """Return a response with reasoning first, then text by characters, then calls, all numbered."""
    items = [_reasoning(number)]
    if said.text:
        items.append(_message(said.text, number))
    items += [_call(*call) for call in said.calls]
    base: Json = {"id": f"resp_{number}", "object": "response", "created_at": 1, "model": "m"}
    base |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "output": []}
    started = {**base, "status": "in_progress"}
    whole = [item for item, _, _ in items]
    ended = {**base, "status": "completed", "output": whole, "usage": USAGE}
    data: list[Json] = [
        {"type": "response.created", "response": started},
        {"type": "response.in_progress", "response": started},
    ]
    for index, (item, begun, pieces) in enumerate(items):
        at = {"output_index": index}
        data.append({"type": "response.output_item.added", "item": begun, **at})
        data += [{**piece, "item_id": item["id"], **at} for piece in pieces]
        data.append({"type": "response.output_item.done", "item": item, **at})
    data.append({"type": "response.completed", "response": ended})
    return [
        b"event: %s\ndata: %s\n\n"
        % (item["type"].encode(), json.dumps({**item, "sequence_number": n}).encode())
        for n, item in enumerate(data)
    ]


Item = tuple[Json, Json, list[Json]]
"""A whole item, the item as it begins, and the events between."""


def _reasoning(number: int) -> Item:
    part = {"type": "summary_text", "text": f"thought {number}"}
    item = {"type": "reasoning", "id": f"rs_{number}", "summary": [part]}
    at = {"summary_index": 0}
    kind = "response.reasoning_summary"
    pieces: list[Json] = [
        {"type": f"{kind}_part.added", "part": {**part, "text": ""}, **at},
        {"type": f"{kind}_text.delta", "delta": part["text"], **at},
        {"type": f"{kind}_text.done", "text": part["text"], **at},
        {"type": f"{kind}_part.done", "part": part, **at},
    ]
    return item, {**item, "summary": []}, pieces


def _message(text: str, number: int) -> Item:
    part: Json = {"type": "output_text", "text": text, "annotations": []}
    item: Json = {"type": "message", "id": f"msg_{number}", "role": "assistant"}
    at: Json = {"content_index": 0}
    pieces: list[Json] = [
        {"type": "response.content_part.added", "part": {**part, "text": ""}, **at},
        *(
            {"type": "response.output_text.delta", "delta": char, "logprobs": [], **at}
            for char in text
        ),
        {"type": "response.output_text.done", "text": text, "logprobs": [], **at},
        {"type": "response.content_part.done", "part": part, **at},
    ]
    begun = {**item, "status": "in_progress", "content": []}
    return {**item, "status": "completed", "content": [part]}, begun, pieces


def _call(id_: str, name: str, given: Any) -> Item:
    if name == "tool_search":
        search: Json = {"type": "tool_search_call", "id": f"ts_{id_}", "call_id": id_}
        search |= {"execution": "client", "arguments": given}
        return {**search, "status": "completed"}, {**search, "status": "in_progress"}, []
    text = json.dumps(given)
    item: Json = {"type": "function_call", "id": f"fc_{id_}", "call_id": id_, "name": name}
    kind = "response.function_call_arguments"
    pieces: list[Json] = [{"type": f"{kind}.delta", "delta": char} for char in text]
    pieces.append({"type": f"{kind}.done", "arguments": text})
    begun = {**item, "status": "in_progress", "arguments": ""}
    return {**item, "status": "completed", "arguments": text}, begun, pieces


def read_responses(url: str) -> Said:
    """Return what the SDK's helper and its plain stream make of a stream; both must agree."""
    with openai.OpenAI(api_key="none", base_url=url) as client:
        with client.responses.stream(model="m", input="x") as stream:
            final = stream.get_final_response()
        said, ids = "", set()
        shown: list[Any] = []
        numbers: list[int] = []
        for event in client.responses.create(model="m", input="x", stream=True):
            numbers.append(event.sequence_number)
            if event.type == "response.output_text.delta":
                said += event.delta
            if event.type == "response.output_item.done":
                assert event.output_index == len(shown)
                shown.append(event.item.to_dict()["id"])
            if "response" in event.model_fields_set:
                ids.add(event.response.id)  # type: ignore[union-attr]  # those that have one
    assert numbers == list(range(len(numbers)))
    assert ids == {final.id}
    assert [item.to_dict()["id"] for item in final.output] == shown
    assert said == final.output_text
    calls = [item for item in final.output if item.type == "function_call"]
    return Said(said, tuple((c.call_id, c.name, json.loads(c.arguments)) for c in calls))
