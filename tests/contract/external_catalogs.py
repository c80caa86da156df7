"""Two services on one database, and what tests ask of them."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import ACME_OLD, ZENITH
from tests.in_process import serving
from tests.postgres_server import PostgresServer
from tests.support import TOOLS, Server, crowd

LIMITED = "acme-limited-0123456789abcdef0123456789abcdef"
RELEASED = {"name": "publish_release", "description": "Publish a new release of a project"}
GIT = {"namespace": "git", "tags": ["code"], "risk": "read_only"}
DIFF = {"name": "git.show_diff", "description": "Show the differences of two commits", **GIT}


@pytest.fixture(scope="module")
def servers(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, Server]]:
    """Yield two services on one database."""
    postgres_server.empty()
    keys = f"acme={ACME_OLD},acme={LIMITED};tags=code,zenith={ZENITH}"
    settings: dict[str, Any] = {"store": postgres_server.url, "api_keys": keys}
    settings["latency_budget_ms"] = 10_000
    folders = [tmp_path_factory.mktemp("external") for _ in range(2)]
    with serving(folders[0], **settings) as one, serving(folders[1], **settings) as two:
        assert change(one, "PUT", {"tools": [*TOOLS, *crowd(300), DIFF], "keep": "postgres"}) == 201
        yield one, two


def change(server: Server, method: str, body: Any, name: str = "all", key: str = ACME_OLD) -> int:
    answer = server.client.request(
        method, f"/v1/catalogs/{name}", json=body, headers={"x-api-key": key}
    )
    return int(answer.status_code)


def ask(server: Server, pattern: str, key: str = ACME_OLD, **fields: Any) -> Any:
    return server.post({"pattern": pattern, "catalog": "all", **fields}, headers={"x-api-key": key})


def names(server: Server, pattern: str, key: str = ACME_OLD, **fields: Any) -> list[str]:
    answer = ask(server, pattern, key, **fields)
    assert answer.status_code == 200, answer.text
    found: list[str] = answer.json()["selected_names"]
    return found


def get(server: Server, path: str, key: str = ACME_OLD) -> Any:
    return server.client.get(f"/v1/catalogs/all{path}", headers={"x-api-key": key})
