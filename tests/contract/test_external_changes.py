"""What one process changes in a catalog in PostgreSQL holds at once for all."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.conftest import ACME_OLD
from tests.contract.external_catalogs import RELEASED, ask, change, get, names, servers
from tests.postgres_server import PostgresServer
from tests.support import TOOLS, Server

__all__ = ["servers"]  # a fixture, found by its name

pytestmark = pytest.mark.integration


def test_what_one_process_changes_the_other_finds_at_once(servers: tuple[Server, Server]):
    one, two = servers
    assert "publish_release" not in names(two, "publish a release")
    assert change(one, "PATCH", {"upsert": [RELEASED]}) == 200
    assert names(two, "publish a release")[0] == "publish_release"
    assert get(two, "").json()["tools"] == len(TOOLS) + 302
    renamed = {**RELEASED, "description": "Announce what is new to everybody"}
    assert change(two, "PATCH", {"upsert": [renamed]}) == 200
    assert names(one, "announce news to everybody")[0] == "publish_release"
    assert change(one, "PATCH", {"status": {"publish_release": "unavailable"}}) == 200
    assert "publish_release" not in names(two, "publish_release")
    assert change(one, "PATCH", {"status": {"publish_release": "available"}}) == 200
    assert names(two, "publish_release")[0] == "publish_release"
    assert change(one, "PATCH", {"remove": ["publish_release"]}) == 200
    assert "publish_release" not in names(two, "publish a release")
    assert get(two, "").json()["tools"] == len(TOOLS) + 301


def test_a_tool_that_was_answered_is_never_answered_as_it_was_before(
    servers: tuple[Server, Server], postgres_server: PostgresServer
):
    def shown(server: Server) -> list[str]:
        fields = {"catalog": "fresh", "no_match_below": 0, "detail": "full"}
        answer = ask(server, "grind corn", **fields).json()
        return [tool["description"] for tool in answer["tools"]]

    for wording in ("Grind corn to flour", "Grind corn to grits", "Grind corn to flour"):
        tools = [{"name": "grind", "description": wording}]
        written = [{"tools": tools, "keep": "postgres"}, {"upsert": tools}]
        for server, method, body in zip(servers, ("PUT", "PATCH"), written, strict=True):
            assert change(server, method, body, "fresh") in (200, 201)
            assert [shown(each) for each in servers] == [[wording]] * 2
    meal = {"name": "grind", "description": "Grind corn to meal"}
    assert change(servers[0], "PUT", {"tools": [meal], "keep": "postgres"}, "other") == 201
    postgres_server.ask("DELETE FROM toolscout.tools WHERE catalog = 'fresh';")
    assert [shown(each) for each in servers] == [[], []]
    postgres_server.ask("UPDATE toolscout.tools SET catalog = 'fresh' WHERE catalog = 'other';")
    assert [shown(each) for each in servers] == [["Grind corn to meal"]] * 2
    postgres_server.ask("DELETE FROM toolscout.tools WHERE catalog = 'fresh';")
    assert [shown(each) for each in servers] == [[], []]


def race(servers: tuple[Server, Server], method: str, bodies: list[Any]) -> list[int]:
    """Change the catalog `race` from both services at a time, both on its present version."""
    tag = (
        servers[0].client.get("/v1/catalogs/race", headers={"x-api-key": ACME_OLD}).headers["etag"]
    )
    head = {"x-api-key": ACME_OLD, "if-match": tag}
    with ThreadPoolExecutor(2) as pool:
        sent = [
            pool.submit(server.client.request, method, "/v1/catalogs/race", json=body, headers=head)
            for server, body in zip(servers, bodies, strict=True)
        ]
        return [answer.result().status_code for answer in sent]


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_of_two_changes_of_one_version_one_is_made_and_nothing_of_the_other(
    servers: tuple[Server, Server], method: str
):
    for number in range(8):
        assert change(servers[0], "PUT", {"tools": TOOLS, "keep": "postgres"}, "race") in (200, 201)
        names_of = [f"runner_{number}_{side}" for side in (0, 1)]
        tools = [[{"name": name}] for name in names_of]
        bodies = [
            {"tools": one, "keep": "postgres"} if method == "PUT" else {"upsert": one}
            for one in tools
        ]
        statuses = race(servers, method, bodies)
        assert sorted(statuses) == [200, 412]
        for name, status in zip(names_of, statuses, strict=True):
            path = f"/v1/catalogs/race/tools/{name}"
            found = servers[0].client.get(path, headers={"x-api-key": ACME_OLD}).status_code
            assert (found == 200) == (status == 200)
