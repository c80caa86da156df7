"""Fixtures: a service that learns, and one with the MCP facade, each with keys of two tenants."""

from collections.abc import Iterator

import pytest

from tests.conftest import ACME_OLD, ZENITH
from tests.contract.learning import KEYS, LEARNING
from tests.contract.mcp_client import KEYED
from tests.support import TOOLS, Server, running


@pytest.fixture(scope="module")
def learning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a service that learns, with keys."""
    folder = tmp_path_factory.mktemp("learning")
    with running(folder, TOOLSCOUT_API_KEYS=KEYS) as started:
        yield started


@pytest.fixture
def empty(learning: Server) -> Server:
    """Return the same, with nothing learned."""
    for key in (ACME_OLD, ZENITH):
        assert learning.client.delete(LEARNING, headers={"x-api-key": key}).status_code == 204
    return learning


@pytest.fixture(scope="module")
def facade(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a service with the facade and one registered catalog of the tenant acme."""
    keys = f"acme={ACME_OLD},zenith={ZENITH}"
    flags = ["--mcp"]
    with running(tmp_path_factory.mktemp("mcp"), *flags, TOOLSCOUT_API_KEYS=keys) as started:
        body, headers = {"tools": [*TOOLS, KEYED]}, {"x-api-key": ACME_OLD}
        assert (
            started.client.put("/v1/catalogs/office", json=body, headers=headers).status_code == 201
        )
        yield started
