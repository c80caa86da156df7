"""An agent whose turns go through the flow teaches the service, with nothing configured."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import pytest

from evals.sets import Question, ToolSet, load_set
from tests.support import Process, running
from toolscout.client import Selector
from toolscout.discovery import ToolDiscovery

PHANTOM = "gateway_search_tools"
TURNS = 300
SPLITS = (1, 2)

Json = dict[str, Any]


class Agent:
    """Searches with the question, then for what it misses, and calls what it wanted."""

    def __init__(self, tools: ToolSet) -> None:
        self.tools = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": json.loads(bytes(tool.definition)),
                },
            }
            for tool in tools.tools
        ]
        self.about = {tool.name: tool.description or tool.name for tool in tools.tools}

    def ask(self, discovery: ToolDiscovery, question: Question, session: str) -> None:
        """One turn of a user, and the request in which the results of the calls are read."""
        asked = {"role": "user", "content": question.text}
        request: Json = {"model": "m", "messages": [asked], "tools": self.tools}
        self.question = question
        self.searched: set[str] = set()
        message = discovery.complete(request, self, session=session)["choices"][0]["message"]
        calls = message.get("tool_calls", [])
        told = [{"role": "tool", "tool_call_id": call["id"], "content": "ok"} for call in calls]
        self.question = Question(question.id, question.text, frozenset())
        request["messages"] = [asked, message, *told]
        discovery.complete(request, self, session=session)

    def __call__(self, request: Json) -> Json:
        shown = {tool["function"]["name"] for tool in request["tools"]}
        missing = sorted(self.question.gold - shown)
        words = [self.question.text, *(self.about[name] for name in missing)]
        query = next((text for text in words if text not in self.searched), None)
        if missing and query is not None:
            self.searched.add(query)
            return _calling([(PHANTOM, {"query": query})])
        return _calling([(name, {}) for name in sorted(self.question.gold & shown)])


def _calling(calls: Sequence[tuple[str, Json]]) -> Json:
    made = [
        {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(v)}}
        for n, (name, v) in enumerate(calls)
    ]
    message: Json = {"role": "assistant", "content": None if made else "Done."}
    if made:
        message["tool_calls"] = made
    return {"id": "r", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with running(tmp_path_factory.mktemp("learning")) as started:
        yield started


def missed(server: Process, tools: ToolSet, seed: int, learn: bool) -> float:
    """Return the share of wanted tools that the first five miss, for new questions."""
    questions = Random(seed).sample(tools.questions, len(tools.questions))
    half = len(questions) // 2
    server.client.delete("/v1/learning")
    agent = Agent(tools)
    discovery = ToolDiscovery(server.url, learn=learn)
    for turn in range(TURNS):
        agent.ask(discovery, questions[turn % half], f"session-{turn}")
    discovery.close()
    with Selector(server.url, timeout=30) as selector:
        return 1 - fmean(
            len(one.gold & set(selector.select(one.text, agent.tools, 5).names)) / len(one.gold)
            for one in questions[half:]
        )


@pytest.mark.integration
def test_an_agent_misses_fewer_tools_after_300_turns(server: Process, data: Path):
    tools = load_set(data / "toolsets" / "dev" / "apibank")
    before = fmean(missed(server, tools, seed, learn=False) for seed in SPLITS)
    after = fmean(missed(server, tools, seed, learn=True) for seed in SPLITS)
    assert after <= 0.8 * before
