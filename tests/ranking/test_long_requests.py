"""All of a request is read, and what asks for a tool decides, wherever it stands."""

from random import Random

import pytest

from tests.support import TOOLS, crowd, select
from toolscout.contract.requests import Filters

TALK = [
    "My sister spent the morning in the garden behind the house.",
    "Nobody had expected that the meeting would take so long.",
    "The old man on the train told me a long story about his brother.",
    "We left it at that, because it was getting late.",
    "The neighbours were not happy with the noise, as usual.",
    "Last year we had the same discussion, with the same result.",
    "It rained for the third time this week, and the bus was late.",
    "Everyone in the office had a strong opinion on the new chairs.",
]

ASKED = {
    "Please send a message to anna@example.org.": "send_email",
    "What is the forecast for Oslo?": "get_weather",
    "Read the text file with the notes.": "read_file",
    "Could you scale the picture to half its size?": "resize_image",
}

MANY = [*TOOLS, *crowd(100)]


def talk(words: int, seed: str) -> list[str]:
    chosen, said = Random(seed), list[str]()
    while sum(len(sentence.split()) for sentence in said) < words:
        said.append(chosen.choice(TALK))
    return said


@pytest.mark.parametrize("ranker", ["hybrid", "bm25", "auto"])
@pytest.mark.parametrize("words", [60, 200, 1_000, 2_000])
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_request_amid_talk_is_found(place: str, words: int, ranker: str):
    for request, name in ASKED.items():
        said = talk(words, request)
        at = {"first": 0, "middle": len(said) // 2, "last": len(said)}[place]
        text = " ".join([*said[:at], request, *said[at:]])
        assert select(MANY, text, ranker=ranker).names[0] == name, request


def test_a_sentence_that_is_repeated_takes_one_place():
    repeated = "Read the file and the text in it."
    for request, name in {
        "Make the picture smaller.": "resize_image",
        "Send a message to Anna.": "send_email",
    }.items():
        rest = [repeated, *talk(40, "b")] * 6
        text = " ".join([*talk(200, "a"), request, *rest, *talk(60, "c")])
        assert name in select(MANY, text).names[:2], request


def test_two_requests_amid_talk_are_both_found():
    said = talk(400, "two")
    text = " ".join(["Translate the letter into French.", *said, "Then send it by e-mail."])
    assert {"translate_text", "send_email"} <= {*select(MANY, text, top_k=5).names[:3]}


def test_a_pasted_log_does_not_decide():
    log = "\n".join(
        f"2026-03-0{day} 10:00:00 ERROR the weather forecast for the city was not read"
        for day in range(1, 9)
    )
    names = select(MANY, f"Open a bug report about this:\n{log}").names
    assert names[0] == "create_issue"


@pytest.mark.parametrize("table", ["| weather | 41 |\n|---|---|\n| city | 17 |", "a|b\n[a-z]+\n.*"])
def test_a_request_with_a_table_is_no_regular_expression(table: str):
    decision = select(MANY, f"Send this as a message to Anna:\n\n{table}", ranker="auto")
    assert decision.ranking.ranker == "hybrid"
    assert decision.names[0] == "send_email"


def test_what_is_quoted_is_what_is_written_and_not_what_is_asked():
    text = 'Send a message that says "the weather in the city is a picture of a calendar"'
    assert select(MANY, text).names[0] == "send_email"


def test_a_tool_is_found_for_a_sentence_of_its_own():
    text = "The customer in Oslo is waiting. I wonder what the forecast is. Scale the picture."
    assert {"get_weather", "resize_image"} <= {*select(MANY, text).names[:2]}


def test_tools_that_a_filter_holds_back_choose_no_sentence():
    text = " ".join([*talk(200, "filter"), "Read the text file.", "Send a message to Anna."])
    allowed = {"filters": Filters(only=("read_file", "get_weather"))}
    assert select(MANY, text, **allowed).names[0] == "read_file"


def test_a_long_request_to_one_tool_or_none_has_an_answer():
    text = " ".join(talk(500, "few"))
    assert select([], text).names == []
    assert len(select(TOOLS[:1], text).names) <= 1
