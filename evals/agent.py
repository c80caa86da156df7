"""`make agent-eval`: does a model call the right tool if it sees all, the selected, or the wanted?

    OPENAI_API_KEY=… python -m evals.agent --base-url https://api.openai.com/v1 --model NAME

Every question is a conversation of its own over chat completions: the model calls tools, which all
answer with the same text, until it calls no more. The first call is judged: it is right if it is of
a tool that the question wants, or if there is none where it wants none. Searches of the model
belong to the flow of Toolscout; they cost calls and tokens, and are not judged.
"""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from time import sleep
from typing import Any

import httpx2

from evals.board.data import OWN_QUESTIONS, OWN_TOOLS
from evals.prompt_cost.models import INTERFACES, Json
from evals.speed.servers import toolscout
from toolscout.commands.evaluation.commands import show_progress
from toolscout.commands.evaluation.questions import JudgedQuestion, read_questions
from toolscout.commands.terminal import read_positive
from toolscout.contract.tools import Tool
from toolscout.discovery import ToolDiscovery
from toolscout.errors import ToolscoutError
from toolscout.files.reading import read_file
from toolscout.tools.refused import find_sent_schema
from toolscout.tools.summary import estimate_text_tokens
from toolscout.turns.refusals import find_status, read_refusal

CHAT = INTERFACES["openai"]
EMPTY: Json = {"type": "object", "properties": {}}

ALL, SELECTED, ORACLE = "all tools", "selected by Toolscout", "oracle: the wanted tools"
MAX_TOOLS = 128
"""Tools that a chat completion takes at most."""

MAX_TURNS = 8
"""Answers after which a conversation ends."""

PATIENCE_S = 120.0
PAUSES_S = (2.0, 8.0, 30.0)
"""Seconds to wait before a request that was one too many (429) is sent again."""

FAILURES = (httpx2.HTTPError, ValueError, LookupError, TypeError, AttributeError)
"""What a question fails by: no answer, or one that is no chat completion."""


class UnusableError(Exception):
    """The endpoint answers no question at all."""


class Endpoint:
    """Answers chat completions, and counts them and the tokens of their prompts."""

    def __init__(self, client: httpx2.Client, base_url: str, model: str) -> None:
        self._client, self._model = client, model
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self.calls = self.tokens = 0
        self.is_estimated = False

    def forward(self, body: Json) -> Json:
        """Send a request and count it.

        Raises:
            UnusableError: the key is refused, or the first request finds no endpoint or model.
            httpx2.HTTPError: this request is not answered.
        """
        try:
            for pause in (0.0, *PAUSES_S):
                sleep(pause)
                response = self._client.post(self._url, json={**body, "model": self._model})
                if response.status_code != httpx2.codes.TOO_MANY_REQUESTS:
                    break
            answer: Json = response.raise_for_status().json()
        except httpx2.HTTPError as error:
            status = find_status(error)
            if status in (401, 403) or (status in (None, 404) and not self.calls):
                raise UnusableError(f"{self._url}: {in_words(error)}") from None
            raise
        used = (answer.get("usage") or {}).get("prompt_tokens")
        prompt = json.dumps([body["messages"], body.get("tools")], ensure_ascii=False)
        self.calls += 1
        self.is_estimated |= used is None
        self.tokens += estimate_text_tokens(prompt) if used is None else used
        return answer


def in_words(error: Exception) -> str:
    """Return why there is no answer: the status, and the endpoint's own words."""
    return (
        f"{find_status(error) or ''} {read_refusal(error).message or type(error).__name__}".strip()
    )


def first_call(complete: Callable[[Json], Json], query: str, tools: Sequence[Json]) -> str | None:
    """Hold a conversation; return the name of the tool that is called first."""
    messages: list[Any] = [{"role": "user", "content": query}]
    first = None
    for _ in range(MAX_TURNS):
        answer = complete({"messages": messages, **({"tools": tools} if tools else {})})
        calls = answer["choices"][0]["message"].get("tool_calls")
        if not calls:
            break
        first = first or str(calls[0]["function"]["name"])
        messages = [*messages, *CHAT.added(answer)]
    return first


def measure(
    connect: Callable[[], Endpoint], tools: Sequence[Tool], questions: Sequence[JudgedQuestion]
) -> Iterator[str]:
    """Ask every question in every way; yield the lines of a table, and why questions failed."""
    shapes = {
        tool.name: CHAT.tool(tool.name, tool.description or "", {**EMPTY, **find_sent_schema(tool)})
        for tool in tools
    }
    notes = []
    columns = "right tool called | model calls | prompt tokens (~: estimated) | failed"
    yield f"| {len(shapes):,} tools | {columns} |"
    yield "|---|--:|--:|--:|--:|"
    with toolscout() as service:
        for way in (ALL, SELECTED, ORACLE):
            if way == ALL and len(shapes) > MAX_TOOLS:
                yield f"| {way} | not possible with more than {MAX_TOOLS} tools | – | – | – |"
                continue
            endpoint, failed, right = connect(), Counter[str](), 0
            progress = show_progress(len(questions))
            with closing(ToolDiscovery(f"http://127.0.0.1:{service.port}", learn=False)) as flow:
                select = partial(flow.complete, forward=endpoint.forward, provider="openai")
                for number, question in enumerate(questions, 1):
                    names = question.tools if way == ORACLE else shapes
                    complete = select if way == SELECTED else endpoint.forward
                    try:
                        called = first_call(complete, question.query, [shapes[n] for n in names])
                        right += called in (question.tools or (None,))
                    except FAILURES as error:
                        failed[in_words(error)] += 1
                    progress(number)
            tokens = f"{'~' if endpoint.is_estimated else ''}{endpoint.tokens:,}"
            counts = f"{endpoint.calls:,} | {tokens} | {failed.total()}"
            yield f"| {way} | {right} of {len(questions)} | {counts} |"
            notes += [f"{way}: {count} failed: {why}" for why, count in failed.items()]
    yield from notes


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m evals.agent", description=__doc__)
    parser.add_argument("--base-url", required=True, help="such as https://api.openai.com/v1")
    parser.add_argument("--model", required=True, help="its name at the endpoint")
    parser.add_argument("--tools", type=Path, default=OWN_TOOLS, help="default: the playground's")
    parser.add_argument("--questions", type=Path, default=OWN_QUESTIONS, help="CSV: query, tools")
    parser.add_argument(
        "--limit", type=read_positive, help="questions at most, the same ones each time"
    )
    parsed = parser.parse_args(arguments)
    if not (key := os.environ.get("OPENAI_API_KEY")):
        parser.error("set OPENAI_API_KEY; where no key is needed, to any text")
    try:
        tools = read_file(parsed.tools)
        names = {tool.name for tool in tools}
        questions = read_questions(parsed.questions.read_bytes(), str(parsed.questions), names)
        questions = Random(3).sample(questions, min(parsed.limit or len(questions), len(questions)))
        headers = {"Authorization": f"Bearer {key}"}
        with httpx2.Client(headers=headers, timeout=PATIENCE_S) as client:
            connect = partial(Endpoint, client, parsed.base_url, parsed.model)
            for line in measure(connect, tools, questions):
                print(line, flush=True)
    except (UnusableError, ToolscoutError, OSError) as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
