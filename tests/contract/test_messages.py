"""`messages` instead of a pattern: the last user turn asks, what came before weighs less."""

from typing import Any

import pytest

from tests.support import Server, problem_of

SHOP: list[dict[str, Any]] = [
    {"name": "refund_order", "description": "Give a customer the money of an order back"},
    {"name": "track_parcel", "description": "Say where a parcel is and when it arrives"},
    {"name": "change_address", "description": "Change the delivery address of a customer"},
    {"name": "open_window", "description": "Open a window of the greenhouse"},
    {"name": "water_plants", "description": "Water the plants of the greenhouse"},
]
MONEY, PARCEL = "Give the customer the money back for the order.", "When does the parcel arrive?"
AGAIN = "Do the same for the other one, please."


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def said(content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **fields}


def asked(server: Server, messages: Any, **fields: Any) -> list[str]:
    response = server.post(
        {"messages": messages, "tools": SHOP, "top_k": 1, "latency_budget_ms": 60_000, **fields}
    )
    assert response.status_code == 200, response.text
    return response.json()["selected_names"]


SHAPES: dict[str, list[dict[str, Any]]] = {
    "plain": [user(MONEY), said("Done."), user(PARCEL)],
    "openai": [
        {"role": "system", "content": "You water the plants."},
        user([{"type": "text", "text": MONEY}, {"type": "image_url", "image_url": {"url": "x"}}]),
        said(
            None,
            tool_calls=[
                {
                    "id": "1",
                    "type": "function",
                    "function": {"name": "refund_order", "arguments": "{}"},
                }
            ],
        ),
        {"role": "tool", "tool_call_id": "1", "content": "water the plants"},
        user([{"type": "text", "text": PARCEL}]),
    ],
    "anthropic": [
        user(MONEY),
        said([{"type": "tool_use", "id": "1", "name": "refund_order", "input": {"a": [1]}}]),
        user([{"type": "tool_result", "tool_use_id": "1", "content": "water the plants"}]),
        said([{"type": "text", "text": "Shall I water the plants?"}]),
        user([{"type": "text", "text": PARCEL}]),
    ],
    "responses": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": MONEY}]},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "1", "name": "refund_order", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "water the plants"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": PARCEL}]},
    ],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_last_user_turn_asks_in_every_shape(server: Server, shape: str):
    assert asked(server, SHAPES[shape]) == ["track_parcel"]


@pytest.mark.parametrize("shape", SHAPES)
def test_an_earlier_turn_is_second(server: Server, shape: str):
    assert asked(server, SHAPES[shape], top_k=2) == ["track_parcel", "refund_order"]


def test_a_turn_that_says_nothing_takes_up_the_one_before(server: Server):
    assert asked(server, [user(MONEY), said("Done."), user(AGAIN)]) == ["refund_order"]
    assert asked(server, [user(PARCEL), said("Done."), user(AGAIN)]) == ["track_parcel"]


def test_a_turn_that_says_nothing_is_at_most_weak(server: Server):
    def outcome(*messages: dict[str, Any]) -> str:
        body = {"messages": messages, "tools": SHOP, "latency_budget_ms": 60_000}
        answer = server.post(body | {"explain": True})
        return answer.json()["outcome"]

    assert outcome(user(MONEY)) == "match"
    assert outcome(user(PARCEL), said("Done."), user(MONEY)) == "match"
    assert outcome(user(MONEY), said("Done."), user("Thanks!")) == "weak"


def test_a_tool_that_was_called_counts_where_no_turn_names_it(server: Server):
    call = {"type": "tool_use", "id": "1", "name": "change_address", "input": {}}
    assert asked(server, [user("go"), said([call]), user(AGAIN)]) == ["change_address"]


def test_messages_in_a_row_are_one_turn(server: Server):
    split = [user("Give the customer the money back"), user("for the order.")]
    assert asked(server, split) == asked(server, [user(MONEY)]) == ["refund_order"]


def test_one_message_is_answered_like_its_text(server: Server):
    fields = {"tools": SHOP, "explain": True, "latency_budget_ms": 60_000}
    one = server.post({"messages": [user(MONEY)], **fields}).json()
    text = server.post({"pattern": MONEY, **fields}).json()
    for body in (one, text):
        body.pop("timings_ms", None)
    assert one == text


def test_odd_parts_of_messages_are_passed_over(server: Server):
    odd = [
        said([None, {"type": "text", "text": {"value": "x"}}, {"type": "image"}]),
        said("x", tool_calls=[None, {"type": "function"}, {"custom": {"name": "water_plants"}}]),
        {"role": "tool", "content": [{"type": "text", "text": 7}]},
        user([{"type": "text", "text": 7}]),
    ]
    assert asked(server, [*odd, user(MONEY)]) == ["refund_order"]


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [said("Hello.")],
        [user("  ")],
        [user([{"type": "tool_result", "tool_use_id": "1", "content": "x"}])],
        [{"role": "system", "content": "Be brief."}],
    ],
)
def test_without_a_user_turn_the_pattern_is_empty(server: Server, messages: Any):
    problem = problem_of(server.post({"messages": messages, "tools": SHOP}), 422, "empty_pattern")
    assert problem["errors"][0]["path"] == "messages"


@pytest.mark.parametrize("other", ["pattern", "query"])
def test_a_pattern_beside_messages_is_refused(server: Server, other: str):
    body = {"messages": [user(MONEY)], other: MONEY, "tools": SHOP}
    problem = problem_of(server.post(body), 422, "invalid_request")
    assert problem["errors"][0]["path"] == "messages"
    assert other in problem["detail"]


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ({"content": "hello"}, "messages[1].role"),
        ({"role": 7}, "messages[1].role"),
        ({"role": "user", "content": 7}, "messages[1].content"),
        ({"role": "user", "content": [{"type": 7}]}, "messages[1].content[0].type"),
        ({"role": "assistant", "tool_calls": {}}, "messages[1].tool_calls"),
    ],
)
def test_a_message_of_no_shape_is_refused_by_its_place(server: Server, message: Any, path: str):
    answer = server.post({"messages": [user("x"), message], "tools": SHOP})
    problem = problem_of(answer, 422, "invalid_request")
    assert problem["errors"][0]["path"] == path
