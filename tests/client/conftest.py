"""Fixtures: a maker of selectors and a runner of streams, once blocking and once asynchronous."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from tests.client.both import Awaited, Blocking, Either
from tests.client.shapes import Json
from tests.client.upstream import Exchange, peer
from toolscout.discovery import AsyncToolDiscovery, DiscoveryConfig, ToolDiscovery
from toolscout.discovery.config import ApiConfig
from toolscout.discovery.providers import ProviderName

Make = Callable[..., Either]
Run = Callable[..., list[bytes]]


@pytest.fixture(params=[Blocking, Awaited], ids=["sync", "async"])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Makes selectors of one kind and closes them at the end."""
    made: list[Either] = []

    def maker(*args: Any, **options: Any) -> Either:
        made.append(request.param(*args, **options))
        return made[-1]

    yield maker
    for selector in made:
        selector.close()


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """Streams a request through a discovery; the pieces the client gets."""

    def script(exchange: Exchange) -> None:
        words = exchange.json["pattern"].split()
        names = [tool["name"] for tool in exchange.json["tools"]]
        exchange.select(*[name for name in names if any(word in name for word in words)])

    with peer(script) as service:

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
