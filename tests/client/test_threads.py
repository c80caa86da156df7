"""Conversations that Anthropic keeps: its tool runner sends only what is new."""

from typing import Any

import anthropic
import httpx2
import pytest
from anthropic import beta_tool

from tests.client.agents import QUESTION, model, service, upstream
from tests.client.model import PHANTOM
from toolscout.discovery import Transport

__all__ = ["model", "service", "upstream"]  # fixtures, found by their names


@beta_tool
def send_email(path: str) -> str:
    """Send an email to somebody."""
    return f"sent to {path}"


FILLER = [
    beta_tool(lambda path: path, name=f"tool_{number}", description=f"Does number {number}")
    for number in range(20)
]


def last_words(client: Any, streams: bool, **options: Any) -> str:
    """Return what the runner's last message says."""
    runner = client.beta.messages.tool_runner(
        model="claude-opus-5",
        max_tokens=9,
        tools=[*FILLER, send_email],
        messages=[{"role": "user", "content": QUESTION}],
        stream=streams,
        max_iterations=8,
        **options,
    )
    for message in runner:
        last = message.get_final_message() if streams else message
    return "".join(block.text for block in last.content if block.type == "text")


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("kept", [True, False], ids=["thread", "no thread"])
def test_the_tool_runner_of_anthropic_ends_well(upstream, service, model, streams, kept):
    options = {} if kept else {"thread": False}
    with (
        httpx2.Client(transport=Transport(service.url)) as http,
        anthropic.Anthropic(
            api_key="k", base_url=upstream.url, http_client=http, max_retries=0
        ) as client,
    ):
        assert last_words(client, streams, **options) == "It said: sent to a@b.example"
    assert model.refused == []
    assert any(PHANTOM in str(request) for request in model.requests) is not kept
