"""What a conversation finds that its last turn, or all of it as one text, does not.

The dialogues are those of a set whose queries are user turns, one a line. Judged are all tools of a
dialogue; then the tools of a last turn after another dialogue (the subject changes), and those of
the turn before where the last one only refers to it.

A second table is of conversations with an agent that asks at each message and keeps its finds.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any, NamedTuple

from evals import metrics, report
from evals.rankers import Ours
from evals.sets import Question, ToolSet, load_set
from toolscout.contract.requests import Message, MessagePart
from toolscout.discovery.local import asks_for_something
from toolscout.ranking.ask import Ask, Decision
from toolscout.ranking.pipeline import decide
from toolscout.text import conversation

SHOWN_OF = ("apibank", "asked-mcp", "azure-mcp-2026", "bfcl-live", "nestful")
"""Sets of which conversations are made, as an agent holds them."""

HELD, CONVERSATIONS, FOLLOWED = 8, 60, 0.3
"""Questions of one conversation, conversations of a set, and how often a turn says nothing new."""

HEADER = ("conversations", "number", "messages", "last turn", "all as one text")

FOLLOW_UPS = (
    "do the same for the other one",
    "Now do it again for my wife.",
    "and once more for tomorrow",
    "same thing please",
    "Could you repeat that with the second one?",
    "Do that for Anna, too.",
    "yes please",
    "What about the other account?",
    "Please try it again.",
    "ok, go ahead",
)
"""Turns that say nothing without the one before; written for this measurement."""


class Dialogue(NamedTuple):
    """A conversation, and the tools that it asks for."""

    messages: tuple[Message, ...]
    gold: frozenset[str]


class _Kind(NamedTuple):
    name: str
    dialogues: list[Dialogue]


def table(each: ToolSet, model: str) -> tuple[str, list[dict[str, Any]]]:
    """R@5 / nDCG@5 of each way to ask, by kind of conversation."""
    ours = Ours("hybrid", model)
    catalog = ours.compile(each.tools)
    rows: list[dict[str, Any]] = []
    for kind in _kinds(each):
        questions = [
            Question(str(number), "", dialogue.gold)
            for number, dialogue in enumerate(kind.dialogues)
        ]
        row: dict[str, Any] = {"conversations": kind.name, "number": len(questions)}
        for way, ask in WAYS.items():
            asks = [ask(dialogue.messages) for dialogue in kind.dialogues]
            names = [decide(catalog, one, ours.embedder).names for one in asks]
            row[way] = metrics.score(questions, names, names)
        rows.append(row)
    cells = [
        [row["conversations"], str(row["number"]), *(_shown(row[way]) for way in WAYS)]
        for row in rows
    ]
    return report.table(HEADER, cells, markdown=True), rows


def shown_table(folder: Path, model: str) -> tuple[str, list[dict[str, Any]]]:
    """Share of questions whose tools are visible before the answer, where what is found stays so.

    A tool that is missing is found by a search of the model, and stays visible too.
    """
    rows: list[dict[str, Any]] = []
    for name in SHOWN_OF:
        each, ours = load_set(folder / name), Ours("hybrid", model)
        find = partial(decide, ours.compile(each.tools), embedder=ours.embedder)
        row: dict[str, Any] = {"set": name}
        for way in ("first message", "last turn", "messages"):
            hits = [hit for talk in _held(each) for hit in _seen(talk, find, way)]
            row |= {"questions": len(hits), way: fmean(hits)}
        rows.append(row)
    cells = [[f"{c:.3f}" if isinstance(c, float) else str(c) for c in r.values()] for r in rows]
    return report.table(tuple(rows[0]), cells, markdown=True), rows


def _held(each: ToolSet) -> list[list[Dialogue]]:
    """Return conversations of questions that have little to do with each other."""
    random = Random(3)
    single = (one for one in each.questions if "\n" not in one.text.strip())
    dialogues = [Dialogue(_users([one.text]), one.gold) for one in single]
    random.shuffle(dialogues)
    talks = []
    for start in range(0, min(len(dialogues) - HELD, CONVERSATIONS * HELD), HELD):
        talk = []
        for one in dialogues[start : start + HELD]:
            talk.append(one)
            if random.random() < FOLLOWED:
                talk.append(Dialogue(_users([random.choice(FOLLOW_UPS)]), one.gold))
        talks.append(talk)
    return talks


def _seen(talk: Sequence[Dialogue], find: Callable[[Ask], Decision], way: str) -> list[bool]:
    seen: set[str] = set()
    said: list[Message] = []
    hits = []
    for number, (messages, gold) in enumerate(talk):
        said += [*([Message("assistant", content="Done.")] if said else []), *messages]
        is_asked = way != "first message" and asks_for_something(_texts(messages)[-1])
        if number == 0 or is_asked:
            seen |= {*find(WAYS.get(way, WAYS["last turn"])(said)).names}
        hits.append(gold <= seen)
        seen |= gold
    return hits


def _shown(found: dict[str, Any]) -> str:
    return f"{found['R@5']:.3f} / {found['nDCG@5']:.3f}"


def _kinds(each: ToolSet) -> list[_Kind]:
    said = [Dialogue(_users(one.text.splitlines()), one.gold) for one in each.questions]
    long = [one for one in said if len(one.messages) > 1]
    short = [one for one in said if len(one.messages) == 1]
    then = [(last, _users([text])) for text in FOLLOW_UPS for last in short]
    return [
        _Kind("dialogues", long),
        _Kind(
            "the subject changes",
            [
                Dialogue(before.messages + last.messages, last.gold)
                for before, last in zip(long, cycle(short), strict=False)
            ],
        ),
        _Kind(
            "the last turn refers to the one before",
            [Dialogue(last.messages + more, last.gold) for last, more in then],
        ),
        _Kind(
            "the same, and its tool was called",
            [Dialogue((*last.messages, _call(last), *more), last.gold) for last, more in then],
        ),
    ]


def _users(texts: Sequence[str]) -> tuple[Message, ...]:
    """Return one message of the user for each text, with an answer before each but the first."""
    answer = Message("assistant", content="Done.")
    found: list[Message] = []
    for text in texts:
        if text.strip():
            found += [answer] * bool(found) + [Message("user", content=text)]
    return tuple(found)


def _call(dialogue: Dialogue) -> Message:
    parts = tuple(MessagePart("tool_use", name=name) for name in sorted(dialogue.gold))
    return Message("assistant", content=parts)


def _texts(messages: Sequence[Message]) -> list[str]:
    return [message.content for message in messages if isinstance(message.content, str)
            and message.role == "user"]  # fmt: skip


def _conversation(messages: Sequence[Message]) -> Ask:
    said = conversation.read(messages)
    return Ask(pattern=said.pattern, earlier=said.earlier, top_k=metrics.SHORT)


WAYS: dict[str, Callable[[Sequence[Message]], Ask]] = {
    "messages": _conversation,
    "last turn": lambda messages: Ask(pattern=_texts(messages)[-1], top_k=metrics.SHORT),
    "all as one text": lambda messages: Ask(
        pattern="\n".join(_texts(messages)), top_k=metrics.SHORT
    ),
}
