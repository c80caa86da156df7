"""`python -m evals --hard`: its requests and conversations, and how their answers are judged."""

import json
from collections import Counter
from pathlib import Path

import pytest

from evals.hard import report
from evals.hard.report import HardQuestion
from evals.rankers import Ours
from tests.support import TOOLS
from toolscout.index.tool_list import ToolList
from toolscout.text.conversation import Conversation

CONVERSATIONS = {
    "another request before": 36,
    "follow-ups": 24,
    "talk before": 24,
    "two messages": 24,
}
"""The number of conversations of each kind."""


def words(question: HardQuestion) -> int:
    return len(question.asked.pattern.split())


def test_there_are_twelve_requests_of_each_kind():
    counted = Counter(question.kind for question in report.read_requests())
    in_talk = [kind for kind in counted if kind.startswith(report.LONG)]
    assert len(in_talk) == 1 + len(report.LENGTHS) * len(report.PLACES)
    assert len(counted) - len(in_talk) == 9
    assert set(counted.values()) == {12}


def test_there_are_conversations_of_four_kinds():
    assert Counter(question.kind for question in report.read_conversations()) == CONVERSATIONS


@pytest.mark.parametrize("read", [report.read_requests, report.read_conversations])
def test_no_question_comes_twice(read):
    asked = Counter((question.asked.pattern, question.asked.earlier) for question in read())
    assert [question for question, times in asked.items() if times > 1] == []


def test_every_question_wants_something_and_only_negations_forbid():
    questions = [*report.read_requests(), *report.read_conversations()]
    assert all(question.wanted and all(question.wanted) for question in questions)
    assert {question.kind for question in questions if question.forbidden} == {"negations"}
    for question in questions:
        assert question.forbidden.isdisjoint(frozenset().union(*question.wanted))


def test_every_tool_of_the_questions_is_in_the_catalog(data: Path):
    catalog = json.loads((data / report.CATALOG).read_text("utf-8"))
    named = [
        names
        for question in (*report.read_requests(), *report.read_conversations())
        for names in (*question.wanted, question.forbidden)
    ]
    assert frozenset().union(*named) - {tool["name"] for tool in catalog} == frozenset()


@pytest.mark.parametrize("length", [80, *report.LENGTHS])
def test_talk_has_its_length_and_is_the_same_each_time(length: int):
    said = " ".join(report.talk(length, 3))
    assert length <= len(said.split()) < length + 25
    assert said == " ".join(report.talk(length, 3))
    assert said != " ".join(report.talk(length, 4))


def test_a_long_request_stands_where_its_kind_says():
    alone, *in_talk = [
        question.asked.pattern
        for question in report.read_requests()
        if question.kind.startswith(report.LONG)
    ][:13]
    assert all(text.startswith(alone) for text in in_talk[0::3])
    assert all(alone in text for text in in_talk[1::3])
    assert not any(text.startswith(alone) or text.endswith(alone) for text in in_talk[1::3])
    assert all(text.endswith(alone) for text in in_talk[2::3])


def test_talk_before_or_after_a_request_belongs_to_its_turn():
    turns = [each for each in report.read_conversations() if each.kind == "two messages"]
    assert all(80 < words(each) < 125 and not each.asked.earlier for each in turns)


def test_found_needs_every_wish_and_first_needs_one():
    ours = Ours("auto")
    catalog = ours.compile(ToolList.decode(json.dumps(TOOLS).encode(), len(TOOLS)).tools)
    reads = frozenset({"read_file", "no_such_tool"})
    asked = Conversation("read the text of a file")
    questions = [
        HardQuestion("one wish", asked, (reads,)),
        HardQuestion("a wish without a tool", asked, (reads, frozenset({"no_such_tool"}))),
        HardQuestion("forbidden", asked, (frozenset({"no_such_tool"}),), reads),
        HardQuestion("nonsense", Conversation("qwxz vbnk trlp"), (reads,)),
    ]
    found = report.figures(questions, catalog, ours.embedder)
    assert found["one wish"] == {"count": 1, "found": 1, "first": 1, "match": 1, "no_match": 0}
    assert found["a wish without a tool"]["found"] == 0
    assert found["a wish without a tool"]["first"] == 1
    assert (found["forbidden"][report.FORBIDDEN], found["forbidden"]["first"]) == (1, 0)
    assert found["nonsense"] == {"count": 1, "found": 0, "first": 0, "match": 0, "no_match": 1}


def test_missing_tools_skip_the_report(tmp_path: Path):
    text, figures = report.report(tmp_path, "no model is read")
    assert text.startswith("skipped: there is no ")
    assert figures == {}
