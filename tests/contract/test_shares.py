"""What one of several tenants may take of a store that has a limit."""

from pathlib import Path

import pytest

from tests.conftest import ACME_OLD, ZENITH
from tests.in_process import serving
from tests.support import TOOLS, Server, problem_of

LARGE = [{"name": f"tool_{n}", "description": f"Turn wheel {n}. " * 200} for n in range(60)]
"""200 KB."""


def put(server: Server, name: str, tools: list[dict], key: str = ACME_OLD) -> int:
    headers = {"x-api-key": key}
    return server.client.put(
        f"/v1/catalogs/{name}", json={"tools": tools}, headers=headers
    ).status_code


def test_one_tenant_cannot_fill_the_store(tmp_path: Path):
    keys = f"acme={ACME_OLD},zenith={ZENITH}"
    store = {"store": f"sqlite:{tmp_path / 'state.db'}", "store_bytes": 1 << 20}
    with serving(tmp_path, api_keys=keys, **store) as server:
        headers = {"x-api-key": ACME_OLD}
        assert [put(server, f"wheels{n}", LARGE) for n in range(4)] == [201, 201, 201, 422]
        patch = {"remove": ["tool_1"]}
        changed = server.client.patch("/v1/catalogs/wheels0", json=patch, headers=headers)
        assert "50%" in problem_of(changed, 422, "invalid_request")["detail"]
        assert put(server, "office", TOOLS, ZENITH) == 201
        assert server.client.delete("/v1/catalogs/wheels0", headers=headers).status_code == 204
        assert put(server, "office", TOOLS) == 201


@pytest.mark.parametrize("keys", ["", f"acme={ACME_OLD}"], ids=["no key", "one key"])
def test_a_tenant_alone_may_take_all(tmp_path: Path, keys: str):
    store = {"store": f"sqlite:{tmp_path / 'state.db'}", "store_bytes": 1 << 20}
    with serving(tmp_path, api_keys=keys, **store) as server:
        assert [put(server, f"wheels{n}", LARGE) for n in range(4)] == [201] * 4
