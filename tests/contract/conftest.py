"""Fixtures: services inside this process, with different settings, each started once."""

from collections.abc import Iterator

import pytest

from tests.conftest import ACME_NEW, ACME_OLD, ZENITH
from tests.contract.learning import KEYS, LEARNING
from tests.contract.mcp_client import KEYED
from tests.in_process import serving
from tests.support import TOOLS, Server

TENANTS = f"acme={ACME_OLD},zenith={ZENITH}"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield the service without any setting."""
    with serving(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture(scope="session")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a service with two tenants, one in the middle of a rotation; metrics need a key."""
    keys = f"acme={ACME_OLD}, acme={ACME_NEW}, {ZENITH}"
    with serving(tmp_path_factory.mktemp("keyed"), metrics_auth=True, api_keys=keys) as started:
        yield started


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a service with tight limits that returns pins when nothing matches."""
    limits = {"max_body_bytes": 4_096, "max_tools": 5, "no_match": "pins"}
    with serving(tmp_path_factory.mktemp("small"), **limits) as started:
        yield started


@pytest.fixture(scope="session")
def learning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a service that learns, with keys."""
    with serving(tmp_path_factory.mktemp("learning"), api_keys=KEYS) as started:
        yield started


@pytest.fixture
def empty(learning: Server) -> Server:
    """Return the same, with nothing learned."""
    for key in (ACME_OLD, ZENITH):
        assert learning.client.delete(LEARNING, headers={"x-api-key": key}).status_code == 204
    return learning


@pytest.fixture(scope="module")
def facade(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a service with the MCP facade and one registered catalog of the tenant acme."""
    with serving(tmp_path_factory.mktemp("mcp"), mcp=True, api_keys=TENANTS) as started:
        body, headers = {"tools": [*TOOLS, KEYED]}, {"x-api-key": ACME_OLD}
        put = started.client.put("/v1/catalogs/office", json=body, headers=headers)
        assert put.status_code == 201
        yield started
