"""What a conversation asks, and what came before."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscout import Engine
from toolscout.contract.requests import Message, Messages
from toolscout.errors import EmptyPattern, InvalidRequest
from toolscout.text.conversation import (
    MAX_CALLED,
    MAX_EARLIER,
    MAX_EARLIER_CHARS,
    MAX_NAME_CHARS,
    read,
)

USER = st.builds(lambda text: Message("user", content=text), st.text("abc ", max_size=20))
OTHER = st.builds(
    Message, st.sampled_from(["assistant", "system", "tool"]), content=st.text("xyz ", max_size=20)
)


@given(st.lists(USER | OTHER, max_size=40))
def test_only_what_the_user_says_is_read(messages: list[Message]):
    try:
        found = read(messages)
    except EmptyPattern:
        assert not any(m.role == "user" and str(m.content).strip() for m in messages)
        return
    assert found.pattern.strip()
    assert not set("xyz") & set("".join([found.pattern, *(each.text for each in found.earlier)]))
    weights = [each.weight for each in found.earlier]
    assert weights == sorted(weights, reverse=True)
    assert all(0 < weight < 1 for weight in weights)


def test_what_came_before_is_bounded():
    turn = [Message("user", content="word " * 1_000), Message("assistant", content="Yes.")]
    calls = [
        msgspec.convert(
            {"role": "assistant", "tool_calls": [{"function": {"name": f"tool_{number}"}}]}, Message
        )
        for number in range(20)
    ]
    found = read([*turn * 50, *calls, Message("user", content="now")])
    texts = [each.text for each in found.earlier]
    assert len(texts) == MAX_EARLIER + MAX_CALLED
    assert max(map(len, texts)) <= MAX_EARLIER_CHARS
    assert texts[MAX_EARLIER] == "tool 19"


def test_a_long_name_of_a_called_tool_is_cut():
    call = {"role": "assistant", "tool_calls": [{"function": {"name": "a." * 1_000_000}}]}
    found = read([*msgspec.convert([call], Messages), Message("user", content="now")])
    assert len(found.earlier[0].text) <= 2 * MAX_NAME_CHARS


def test_an_engine_takes_messages_as_dicts_and_objects():
    engine = Engine(
        [
            {"name": "pay_bill", "description": "Pay a bill"},
            {"name": "book_trip", "description": "Book a trip"},
        ]
    )
    said = [{"role": "user", "content": "Pay the bill."}, {"role": "assistant", "content": "Done."}]
    then = {"role": "user", "content": "And once more."}
    assert engine.search([*said, then], 1).names == ["pay_bill"]
    assert engine.search(msgspec.convert([*said, then], Messages), 1).names == ["pay_bill"]
    with pytest.raises(InvalidRequest, match=r"messages: .*\$\[0\].content"):
        engine.search([{"role": "user", "content": 7}])
    with pytest.raises(EmptyPattern):
        engine.search(said[1:])
