"""The examples with boto3, around its calls, and with Google's SDK, by its transport."""

import json
from typing import Any

import pytest

from tests.client.upstream import Exchange, peer
from tests.integration.frameworks.environment import QUESTION, run, settings
from tests.integration.venvs import ROOT
from tests.support import Process
from tests.turns.model import PHANTOM
from tests.turns.shapes import Bedrock, Gemini, Json, Said

pytestmark = pytest.mark.integration

OWN_CALLS: dict[str, Bedrock | Gemini] = {"bedrock_agent": Bedrock(), "gemini_agent": Gemini()}
USAGE = {
    "bedrock": {"usage": {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}, "metrics": {}},
    "gemini": {"usageMetadata": {"promptTokenCount": 3, "totalTokenCount": 5}},
}


class Model:
    """Calls `send_email` when it sees it, and then says what came of it."""

    def __init__(self, shape: Bedrock | Gemini, is_restless: bool = False) -> None:
        self.shape = shape
        self.is_restless = is_restless
        self.seen: list[list[str]] = []

    def __call__(self, exchange: Exchange) -> None:
        body: Json = exchange.json
        self.seen.append(self.shape.names(body))
        answer: dict[str, Any] = self.shape.response(self.say(body)) | USAGE[self.shape.name]
        headers = [("Content-Type", "application/json")]
        exchange.answer(json.dumps(answer).encode(), headers=headers)

    def say(self, body: Json) -> Said:
        told = self.shape.results(body)
        if told and not self.is_restless:
            return Said(f"It said: {[*told.values()][-1]}")
        assert "send_email" in self.seen[-1]
        return Said("Sending.", ((f"c{len(told)}", "send_email", {"to": "a@b.example"}),))


def ask(example: str, model: Model, server: Process) -> str:
    with peer(model) as upstream:
        of_provider = {
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": upstream.url,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "none",
            "AWS_SECRET_ACCESS_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": upstream.url,
            "GEMINI_API_KEY": "none",
        }
        env = settings(upstream.url, server.url, **of_provider)
        return run(ROOT / "examples" / f"{example}.py", *QUESTION.split(), env=env)


@pytest.mark.parametrize("example", OWN_CALLS)
def test_an_agent_finds_and_calls_its_tool(example: str, server: Process):
    model = Model(OWN_CALLS[example])
    assert ask(example, model, server) == "It said: sent to a@b.example"
    first, second = model.seen
    assert first == second
    assert PHANTOM in first
    assert len(first) < 8


@pytest.mark.parametrize("example", OWN_CALLS)
def test_a_model_that_never_answers_is_stopped(example: str, server: Process):
    model = Model(OWN_CALLS[example], is_restless=True)
    assert ask(example, model, server) == "no answer after 10 steps"
    assert len(model.seen) == 10
