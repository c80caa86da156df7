"""Fixtures: flows and streams, each blocking and asynchronous."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx2
import pytest

from tests.client.conftest import make, patient
from tests.client.upstream import Peer, peer
from tests.turns.agents import OPEN
from tests.turns.flows import finds, flow, service, shape, tools
from tests.turns.shapes import Json
from toolscout.discovery import (
    AsyncToolDiscovery,
    AsyncTransport,
    DiscoveryConfig,
    ToolDiscovery,
    Transport,
)
from toolscout.discovery.config import ApiConfig
from toolscout.discovery.providers import ProviderName

__all__ = ["flow", "make", "patient", "service", "shape", "tools"]  # fixtures, found by their names

Run = Callable[..., list[bytes]]


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close the agents of a test when it ends."""
    yield
    while OPEN:
        OPEN.pop().close()


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


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """Streams a request through a discovery; the pieces the client gets."""
    with peer(finds) as service:

        def stream(
            body: Json, model: Any, provider: ProviderName, strategy: str = "api"
        ) -> list[bytes]:
            api = ApiConfig(service.url, timeout=5)
            config = DiscoveryConfig(enabled=True, strategy=strategy, api=api)
            if request.param == "sync":
                discovery = ToolDiscovery(config)
                try:
                    return list(discovery.stream(body, model, provider))
                finally:
                    discovery.close()

            async def pieces(body: Json) -> AsyncIterator[bytes]:
                for piece in model(body):
                    yield piece

            async def collect() -> list[bytes]:
                discovery = AsyncToolDiscovery(config)
                try:
                    return [piece async for piece in discovery.stream(body, pieces, provider)]
                finally:
                    await discovery.aclose()

            return asyncio.run(collect())

        yield stream
