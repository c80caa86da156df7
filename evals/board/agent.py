"""End to end: does a model call the right tool when it sees all, the selected, or the wanted ones?

Works with any endpoint that speaks OpenAI's chat completions. One request a question and arm: the
question is the user's message, and the first tool that the model calls is judged.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from time import perf_counter
from typing import Any

import httpx2

from evals.board import selectors
from evals.board.data import Asked
from evals.board.peers import schema_of
from evals.metrics import SHORT
from evals.report import table
from evals.run import limited
from evals.sets import Question
from toolscout.contract.tools import Tool

PATIENCE_S = 120.0
ALL, SELECTED, ORACLE = "all tools", "selected", "oracle"

_UNUSUAL = re.compile(r"[^\w-]", re.ASCII)
_MOST_NAME_CHARS = 64


@dataclass(frozen=True, slots=True)
class Turn:
    """What a model did with a question; `error` says why it did nothing."""

    set: str
    arm: str
    shown: int
    right: bool
    called: bool
    tokens: int
    seconds: float
    error: str = ""


def measure(
    url: str, model: str, sets: Iterable[Asked], count: int, selector: str = selectors.NAMES[0]
) -> Iterator[Turn]:
    """Ask a model `count` questions of each set with the tools of each arm."""
    key = os.environ.get("OPENAI_API_KEY")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with httpx2.Client(headers=headers, timeout=PATIENCE_S) as client:

        def send(body: dict[str, Any]) -> httpx2.Response:
            return client.post(f"{url.rstrip('/')}/chat/completions", json={"model": model, **body})

        for asked in sets:
            questions = limited(asked.set.questions, count)
            make = selectors.find(selector)
            search = None if asked.own_tools else make(asked.set.tools, questions)
            for question in questions:
                tools = asked.own_tools.get(question.text, asked.set.tools)
                searched = search or make(tools, ())
                names = set(searched(question.text, SHORT).names)
                arms = {
                    ALL: tools,
                    # A caller shows everything when nothing is selected.
                    SELECTED: [tool for tool in tools if tool.name in names] or tools,
                    ORACLE: [tool for tool in tools if tool.name in question.gold],
                }
                for arm, shown in arms.items():
                    yield _turn(send, asked.set.name, arm, question, shown)


def _turn(
    send: Callable[[dict[str, Any]], httpx2.Response],
    name: str,
    arm: str,
    question: Question,
    shown: Sequence[Tool],
) -> Turn:
    """Send one request and judge the first call of its answer."""
    offered = {_UNUSUAL.sub("_", t.name)[:_MOST_NAME_CHARS]: t for t in shown}
    body = {
        "messages": [{"role": "user", "content": question.text}],
        "tools": [_function(plain, tool) for plain, tool in offered.items()],
    }
    began = perf_counter()
    error, called, tokens = "", None, 0
    try:
        response = send(body)
        answer = response.json()
        if response.status_code != httpx2.codes.OK:
            error = f"status {response.status_code}"
        else:
            calls = answer["choices"][0]["message"].get("tool_calls") or []
            called = calls[0]["function"]["name"] if calls else None
            tokens = int((answer.get("usage") or {}).get("prompt_tokens", 0))
    except (httpx2.HTTPError, ValueError, LookupError, TypeError, AttributeError) as failed:
        error = type(failed).__name__
    right = called in offered and offered[called].name in question.gold
    seconds = perf_counter() - began
    return Turn(name, arm, len(shown), right, called is not None, tokens, seconds, error)


def _function(name: str, tool: Tool) -> dict[str, Any]:
    about = {"name": name, "description": tool.description or "", "parameters": schema_of(tool)}
    return {"type": "function", "function": about}


def as_table(turns: Sequence[Turn], *, markdown: bool) -> str:
    """Return a line for each set and arm; requests that failed count as wrong."""
    rows = []
    for name, arm in dict.fromkeys((turn.set, turn.arm) for turn in turns):
        chosen = [turn for turn in turns if (turn.set, turn.arm) == (name, arm)]
        errors = sorted({turn.error for turn in chosen if turn.error})
        answered = [turn for turn in chosen if not turn.error]
        rows.append([
            f"{name}, {arm}",
            str(len(chosen)),
            f"{fmean(turn.right for turn in chosen):.3f}",
            f"{fmean(turn.called for turn in chosen):.3f}",
            f"{fmean(turn.shown for turn in chosen):.1f}",
            f"{fmean(turn.tokens for turn in answered):,.0f}" if answered else "–",
            f"{median(turn.seconds for turn in answered):.2f}" if answered else "–",
            f"{len(chosen) - len(answered)} {', '.join(errors)}".strip(),
        ])  # fmt: skip
    head = ("set, arm", "questions", "right tool", "any call", "tools shown", "prompt tokens",
            "seconds", "failed")  # fmt: skip
    return table(head, rows, markdown=markdown)
