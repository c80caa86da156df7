"""What all agents share: they read settings, questions and removals as lines of JSON.

{"about": {…}, "streams": false, "forced": "",
 "thinks": false, "strict": false}                its tools, once; it answers {"ready": true}
{"ask": "write an email"}                         it answers {"called": ["send_email"]}
                                                  or {"error": "…", "kinds": ["APIError", …]}
{"drop": "send_email"}                            a tool less from now on
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

ANSWERS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # frameworks that print, print elsewhere


class Tools:
    """The tools of an agent, and which of them were called.

    Args:
        about: their descriptions, by their names.
        strict: whether each has a second argument, which is required and may be null.
    """

    def __init__(self, about: dict[str, str], strict: bool) -> None:
        self.about = about
        self.strict = strict
        self.called: list[str] = []

    def functions(self, has_default: bool = False) -> list[Callable[..., str]]:
        """One function for each tool, with its name and description.

        Args:
            has_default: whether the argument that may be null has null as its default.
        """
        return [self._function(*item, has_default) for item in self.about.items()]

    def _function(self, name: str, text: str, has_default: bool) -> Callable[..., str]:
        def call(path: str) -> str:
            self.called.append(name)
            return "sent"

        def call_with(path: str, note: str | None) -> str:
            assert note is None
            return call(path)

        if has_default:
            call_with.__defaults__ = (None,)
        function = call_with if self.strict else call
        function.__name__ = function.__qualname__ = name
        function.__doc__ = text
        return function


STRUCTURED = sys.argv[1:] == ["structured"]
"""Whether the agent is to answer with an object, by a call of a tool."""


class Agent:
    """An agent of one framework, with the messages so far.

    Args:
        tools: those of its next question.
        streams: whether the model's responses stream.
        forced: a tool that the model must call first, or `none`; empty where it may choose.
    """

    def __init__(self, tools: Tools, streams: bool, forced: str) -> None:
        self.tools = tools
        self.streams = streams
        self.forced = forced
        self.messages: list[Any] = []

    async def ask(self, question: str) -> None:
        """Answer one question."""
        raise NotImplementedError


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _lines() -> Any:
    return (json.loads(line) for line in sys.stdin)


async def _serve(make: Callable[[Tools, bool, str], Agent]) -> None:
    lines = _lines()
    settings = next(lines)
    tools = Tools(settings["about"], settings["strict"])
    agent = make(tools, settings["streams"], settings["forced"])
    _say({"ready": True})
    for line in lines:
        if "drop" in line:
            del tools.about[line["drop"]]
            continue
        tools.called.clear()
        try:
            answered: Awaitable[None] = agent.ask(line["ask"])
            await answered
        except Exception as error:
            kinds = [kind.__name__ for each in _causes(error) for kind in type(each).__mro__]
            _say({"error": f"{type(error).__name__}: {error}", "kinds": kinds})
        else:
            _say({"called": tools.called})


def _say(line: dict[str, Any]) -> None:
    print(json.dumps(line), file=ANSWERS, flush=True)


def serve(make: Callable[[Tools, bool, str], Agent]) -> None:
    """Run an agent until its input ends."""
    asyncio.run(_serve(make))
