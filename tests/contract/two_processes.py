"""Two processes on one store, and what tests ask of them."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.conftest import ACME_NEW, ACME_OLD, ZENITH
from tests.in_process import serving
from tests.support import SEARCH, Server

SERVERS = ("redis_server", "postgres_server")


@pytest.fixture(
    scope="module",
    params=["sqlite", *(pytest.param(kind, marks=pytest.mark.integration) for kind in SERVERS)],
)
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, Server]]:
    """Two services on one store: one with an older key of the tenant acme, one with a newer."""
    if request.param in SERVERS:
        store = request.getfixturevalue(request.param).url
    else:
        store = f"sqlite:{tmp_path_factory.mktemp('state') / 'state.db'}"
    with ExitStack() as stack:
        servers = [
            stack.enter_context(
                serving(
                    tmp_path_factory.mktemp("one_of_two"),
                    store=store,
                    api_keys=f"acme={key},zenith={ZENITH}",
                )
            )
            for key in (ACME_OLD, ACME_NEW)
        ]
        yield servers[0], servers[1]


def known(server: Server, digest: str, key: str, path: str = SEARCH, **fields: Any) -> bool:
    body = {"catalog": digest, "latency_budget_ms": 60_000, **fields}
    return server.post(body, path, {"x-api-key": key}).status_code == 200
