"""A proxy's flow with a scripted model and a scripted service, for every provider."""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from tests.client.upstream import Exchange, Peer, peer
from tests.support import PATIENCE_S
from tests.turns.shapes import SHAPES, Json, Said, Shape, tools_of
from toolscout.discovery import AsyncToolDiscovery, DiscoveryConfig, ToolDiscovery
from toolscout.turns.config import ApiConfig
from toolscout.turns.providers import PROVIDERS

PHANTOM = "gateway_search_tools"


class RefusedError(Exception):
    """What a forward raises for a request that the provider refuses, as SDKs do."""

    status_code = 400


class Model:
    """Says one thing after the other, and keeps what it was sent."""

    def __init__(self, shape: Shape, *turns: Said | Exception) -> None:
        self.shape = shape
        self.turns = list(turns)
        self.requests: list[Json] = []

    def __call__(self, request: Json) -> Json:
        self.requests.append(copy.deepcopy(request))
        said = self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]
        if isinstance(said, Exception):
            raise said
        return self.shape.response(said)

    def seen(self, turn: int) -> list[str]:
        return self.shape.names(self.requests[turn])


class Flow:
    """Either twin behind one blocking call, which declares what it finds unless told otherwise."""

    def __init__(self, kind: type[Any], config: DiscoveryConfig | str, **options: Any) -> None:
        self.discovery = kind(config, **{"dispatch": "off", **options})

    def complete(
        self, request: Json, model: Callable[[Json], Json], *args: Any, **more: Any
    ) -> Json:
        if isinstance(self.discovery, ToolDiscovery):
            return self.discovery.complete(request, model, *args, **more)

        async def forward(body: Json) -> Json:
            return model(body)

        async def run() -> Json:
            try:
                return await self.discovery.complete(request, forward, *args, **more)
            finally:
                await self.discovery.aclose()

        return asyncio.run(run())

    def stream(
        self, request: Json, model: Callable[[Json], Iterator[bytes]], *args: Any
    ) -> list[bytes]:
        """Return the pieces that the client of a stream gets."""
        if isinstance(self.discovery, ToolDiscovery):
            return list(self.discovery.stream(request, model, *args))

        async def forward(body: Json) -> AsyncIterator[bytes]:
            for piece in model(body):
                yield piece

        async def run() -> list[bytes]:
            try:
                return [piece async for piece in self.discovery.stream(request, forward, *args)]
            finally:
                await self.discovery.aclose()

        return asyncio.run(run())


def begins_with(request: Any, earlier: Any, shape: Shape) -> bool:
    """Whether an earlier request is the beginning of a later one, tools and messages."""
    history = PROVIDERS[shape.name].history
    before, after = history(earlier), history(request)
    return shape.raw(earlier) == shape.raw(request) and after[: len(before)] == before


def search(query: Any, id_: str = "call_1", text: str = "") -> Said:
    return Said(text, ((id_, PHANTOM, {"query": query}),))


DONE = Said("All done.")


@pytest.fixture(params=SHAPES, ids=lambda shape: shape.name)
def shape(request: pytest.FixtureRequest) -> Shape:
    return request.param


@pytest.fixture
def tools(shape: Shape) -> list[Json]:
    return tools_of(shape)


def finds(exchange: Exchange) -> None:
    """Answer as a service that finds the tools whose names hold a word of the query."""
    words = exchange.json["pattern"].split()
    names = [tool["name"] for tool in exchange.json["tools"]]
    exchange.select(*[name for name in names if any(word in name for word in words)])


@pytest.fixture
def service() -> Iterator[Peer]:
    with peer(finds) as started:
        yield started


@pytest.fixture(params=[ToolDiscovery, AsyncToolDiscovery], ids=["sync", "async"])
def flow(request: pytest.FixtureRequest, service: Peer) -> Iterator[Callable[..., Flow]]:
    made: list[Flow] = []

    def make(strategy: str = "api", endpoint: str | None = None, **options: Any) -> Flow:
        url = service.url if endpoint is None else endpoint
        fields = {key: options.pop(key) for key in ("always_keep", "max_tools") if key in options}
        config = DiscoveryConfig(
            enabled=True, strategy=strategy, api=ApiConfig(url, timeout=PATIENCE_S), **fields
        )
        made.append(Flow(request.param, options.pop("config", config), **options))
        return made[-1]

    yield make
    for one in made:
        if isinstance(one.discovery, ToolDiscovery):
            one.discovery.close()
