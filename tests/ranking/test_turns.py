"""What was said before counts as far as the last turn needs it."""

import msgspec
import pytest

from tests.ranking.test_long_requests import MANY, talk
from tests.support import select
from toolscout.contract.requests import Message
from toolscout.ranking.ask import Decision
from toolscout.text import conversation
from toolscout.text.conversation import Earlier

REQUESTS = {
    "What is the forecast for Oslo?": "get_weather",
    "Scale this picture to half its size": "resize_image",
    "Translate the text into French": "translate_text",
    "Send a message to the e-mail address of Anna": "send_email",
}


def ask(*said: str, is_answered: bool = True) -> Decision:
    """Ask with messages of a user; an assistant answers each but the last."""
    messages = [{"role": "user", "content": said[0]}]
    for text in said[1:]:
        if is_answered:
            messages.append({"role": "assistant", "content": "Done."})
        messages.append({"role": "user", "content": text})
    read = conversation.read(msgspec.convert(messages, tuple[Message, ...]))
    return select(MANY, read.pattern, earlier=read.earlier)


@pytest.mark.parametrize("before", REQUESTS)
@pytest.mark.parametrize("last", REQUESTS)
def test_another_request_just_before_takes_no_place(before: str, last: str):
    if before != last:
        decision = ask(before, last)
        assert decision.names[0] == REQUESTS[last]
        assert decision.outcome == "match"


@pytest.mark.parametrize("last", REQUESTS)
def test_a_request_after_a_turn_of_talk_is_a_match(last: str):
    decision = ask(" ".join(talk(80, last)), last)
    assert decision.names[0] == REQUESTS[last]
    assert decision.outcome == "match"


@pytest.mark.parametrize("last", ["And tomorrow?", "How about there?", "Do that again, please"])
def test_a_turn_that_asks_nothing_by_itself_is_about_the_one_before(last: str):
    decision = ask("What is the forecast for Oslo?", last)
    assert decision.names[0] == "get_weather"
    assert decision.outcome == "weak"


@pytest.mark.parametrize(
    ("before", "last", "wanted"),
    [
        ("Which workflows does acme/api have?", "Run the last one", "run_workflow"),
        ("Look for ramen places near the opera", "How do I get to the first?", "directions"),
    ],
)
def test_a_turn_without_its_object_finds_what_both_readings_find(
    before: str, last: str, wanted: str
):
    tools = [
        {"name": "list_workflows", "description": "List the workflows of a repository"},
        {"name": "get_workflow", "description": "Get a workflow of a repository"},
        {"name": "run_workflow", "description": "Trigger a run of a workflow"},
        {"name": "start_timer", "description": "Start a timer"},
        {"name": "place_search", "description": "Search for places such as restaurants"},
        {"name": "place_details", "description": "Details of a place such as a restaurant"},
        {"name": "directions", "description": "How to get from one place to another"},
    ]
    decision = select(tools, last, earlier=(Earlier(before, 0.8),))
    assert decision.names[0] == wanted


@pytest.mark.parametrize("last", ["again", "try again", "in the other account", "right away"])
def test_a_turn_that_says_nothing_leaves_the_order_of_the_one_before(last: str):
    tools = [
        {"name": f"{place}_{verb}", "description": f"{verb} something in {place}"}
        for place in ("github", "docker", "gmail")
        for verb in ("create", "close", "list", "send")
    ]
    earlier = (Earlier("create something in github", 0.8),)
    assert select(tools, last, earlier=earlier).names[0] == "github_create"


@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("is_first", [True, False])
def test_two_messages_without_a_reply_between_are_one_request(request_: str, *, is_first: bool):
    said = " ".join(talk(80, request_))
    both = (request_, said) if is_first else (said, request_)
    assert ask(*both, is_answered=False).names[0] == REQUESTS[request_]


def test_of_a_long_turn_before_what_asks_counts():
    said = talk(400, "before")
    before = " ".join([*said[:20], "What is the forecast for Oslo?", *said[20:]])
    assert ask(before, "And tomorrow?").names[0] == "get_weather"
