"""Fixtures: flows and streams, each blocking and asynchronous."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from tests.client.conftest import make, patient
from tests.client.upstream import Peer
from tests.turns.agents import OPEN
from tests.turns.flows import Flow, flow, service, shape, tools
from tests.turns.shapes import Json
from toolscout.discovery import AsyncTransport, Transport
from toolscout.turns.lessons import reporter
from toolscout.turns.providers import ProviderName

__all__ = ["flow", "make", "patient", "service", "shape", "tools"]  # fixtures, found by their names

Run = Callable[..., list[bytes]]


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close the agents of a test when it ends."""
    yield
    while OPEN:
        OPEN.pop().close()


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let closing wait for reports however slow the machine is."""
    monkeypatch.setattr(reporter, "CLOSE_S", 30.0)


@pytest.fixture(params=["sync", "async"])
def post(request: pytest.FixtureRequest, service: Peer) -> Callable[..., httpx2.Response]:
    """Return posts JSON through one of the transports."""
    headers = {"Content-Type": "application/json"}

    def blocking(url: str, body: bytes) -> httpx2.Response:
        with httpx2.Client(transport=Transport(service.url), timeout=30) as client:
            return client.post(url, content=body, headers=headers)

    async def awaited(url: str, body: bytes) -> httpx2.Response:
        transport = AsyncTransport(service.url)
        async with httpx2.AsyncClient(transport=transport, timeout=30) as client:
            return await client.post(url, content=body, headers=headers)

    if request.param == "sync":
        return blocking
    return lambda url, body: asyncio.run(awaited(url, body))


@pytest.fixture
def run(flow: Callable[..., Flow]) -> Run:
    """Return what streams a request through a discovery: the pieces that the client gets."""

    def stream(
        body: Json, model: Any, provider: ProviderName, strategy: str = "api"
    ) -> list[bytes]:
        return flow(strategy, dispatch="auto").stream(body, model, provider)

    return stream
