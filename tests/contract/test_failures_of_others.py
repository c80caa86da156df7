"""One tenant gets each error that a store can answer; another one's calls go on."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.conftest import ACME_OLD, ZENITH
from tests.contract.learning import FEEDBACK, KEYS, LEARNING, WORKED
from tests.in_process import serving
from tests.postgres_server import PostgresServer
from tests.redis_server import RedisServer
from tests.support import TOOLS, Server, crowd, problem_of
from toolscout.state.guarded import FAILURES
from toolscout.state.memory import MemoryStore

integration = pytest.mark.integration

ROOM = 1 << 20
"""Bytes of a store that two tenants soon fill; one takes half of it at most."""

FILLERS = {name: f"{name}-0123456789abcdef0123456789abcdef" for name in ("one", "two")}
"""Their keys."""

FAILING = 3 * FAILURES
"""Calls of each kind that fail; so many failures of the store itself would open its breaker."""

SESSION = {**WORKED, "session": "one"}


class Tenant:
    """The calls of one tenant."""

    def __init__(self, server: Server, key: str) -> None:
        self.server = server
        self.key = key

    def send(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"x-api-key": self.key}
        return self.server.client.request(method, path, json=body, headers=headers)

    def register(self, name: str, tools: list[dict[str, Any]]) -> Any:
        return self.send("PUT", f"/v1/catalogs/{name}", {"tools": tools})

    def fail(self) -> None:
        """Ask for what the store refuses, again and again, which is told to this tenant."""
        for number in range(FAILING):
            for answer in (
                self.register("broken", crowd(300, f"more{number}")),
                self.send("POST", FEEDBACK, {**WORKED, "tool": f"more{number}"}),
            ):
                if answer.status_code != 202:  # in a full store small things find room
                    problem_of(answer, 503, "store_unavailable")

    def go_on(self, *, has_room: bool = True) -> None:
        """Do everything, of which nothing is refused; without room, read, delete and erase."""
        assert self.send("DELETE", f"{LEARNING}?session=one").status_code == 204
        assert self.send("DELETE", LEARNING).status_code == 204
        assert self.send("GET", LEARNING).json()["observations"] == 0
        assert self.send("GET", "/v1/catalogs/mine").status_code == 200
        assert self.send("DELETE", "/v1/catalogs/mine").status_code == 204
        if has_room:
            assert self.register("mine", TOOLS).status_code == 201
            assert self.send("POST", FEEDBACK, SESSION).status_code == 202
            assert self.send("GET", "/v1/catalogs/mine").status_code == 200


@contextmanager
def two_tenants(folder: Path, **settings: Any) -> Iterator[tuple[Tenant, Tenant]]:
    """Yield two tenants of one service, the second of which has a catalog and reports."""
    keys = ",".join([KEYS, *map("=".join, FILLERS.items())])
    with serving(folder, api_keys=keys, **settings) as server:
        acme, zenith = Tenant(server, ACME_OLD), Tenant(server, ZENITH)
        assert zenith.register("mine", crowd(100)).status_code == 201  # more than is written later
        assert zenith.send("POST", FEEDBACK, SESSION).status_code == 202
        yield acme, zenith


def fill(server: Server) -> None:
    """Register catalogs until there is no room, first large ones, then small ones."""
    for tenant in (Tenant(server, key) for key in FILLERS.values()):
        for count in (300, 30, 3):
            number = 0
            while tenant.register(f"{count}-{number}", crowd(count, f"f{number}")).is_success:
                number += 1
                assert number < 200


def test_a_full_memory_refuses_nothing_that_makes_room(tmp_path: Path):
    store = MemoryStore(max_bytes=ROOM)
    with (
        patch("toolscout.server.service.open_store", return_value=store),
        two_tenants(tmp_path) as (acme, zenith),
    ):
        fill(acme.server)
        acme.fail()
        zenith.go_on()


def test_a_full_file_refuses_nothing_that_makes_room(tmp_path: Path):
    settings = {"store": f"sqlite:{tmp_path / 'state.db'}", "store_bytes": ROOM}
    with two_tenants(tmp_path, **settings) as (acme, zenith):
        fill(acme.server)
        acme.fail()
        zenith.go_on()


def test_a_constraint_of_a_file_concerns_whoever_breaks_it(tmp_path: Path):
    path = tmp_path / "state.db"
    with two_tenants(tmp_path, store=f"sqlite:{path}") as (acme, zenith):
        with closing(sqlite3.connect(path)) as db:
            for table, column in (("kept", "key"), ("entries", "log")):
                db.execute(
                    f"CREATE TRIGGER no_{table} BEFORE INSERT ON {table}"
                    f" WHEN new.{column} LIKE '%/acme%' BEGIN SELECT RAISE(ABORT, 'no'); END"
                )
            db.commit()
        acme.fail()
        zenith.go_on()


@integration
def test_a_full_redis_still_deletes_erases_and_reads(tmp_path: Path, redis_server: RedisServer):
    redis_server.empty()
    with two_tenants(tmp_path, store=redis_server.url) as (acme, zenith):
        with redis_server.full():
            acme.fail()
            zenith.go_on(has_room=False)
            acme.fail()
        assert zenith.register("mine", TOOLS).status_code == 201
        assert zenith.send("POST", FEEDBACK, SESSION).status_code == 202
        zenith.go_on()


@integration
def test_a_key_of_another_kind_in_redis_concerns_its_tenant(
    tmp_path: Path, redis_server: RedisServer
):
    redis_server.empty()
    with two_tenants(tmp_path, store=redis_server.url) as (acme, zenith):
        redis_server.command("LPUSH toolscout:1:registered/acme/broken junk")
        redis_server.command("SET toolscout:1:learning/acme junk")
        acme.fail()
        for _ in range(FAILING):
            problem_of(acme.send("GET", "/v1/catalogs/broken"), 503, "store_unavailable")
        zenith.go_on()
    redis_server.empty()


REFUSE = """
CREATE OR REPLACE FUNCTION toolscout.refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '{code}'; END $$;
CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON toolscout.kept
  FOR EACH ROW WHEN (new.key LIKE '%/acme%') EXECUTE FUNCTION toolscout.refuse();
CREATE TRIGGER refuse BEFORE INSERT ON toolscout.entries
  FOR EACH ROW WHEN (new.log LIKE '%/acme%') EXECUTE FUNCTION toolscout.refuse();
"""

CODES = {
    "disk full": "53100",
    "wrong type": "22P02",
    "constraint": "23514",
    "serialization": "40001",
    "deadlock": "40P01",
    "lock timeout": "55P03",
    "statement timeout": "57014",
    "damaged page": "XX001",
}
"""SQLSTATE of what PostgreSQL may answer to a statement."""


@integration
@pytest.mark.parametrize("why", CODES)
def test_what_postgres_refuses_concerns_whoever_asked(
    tmp_path: Path, postgres_server: PostgresServer, why: str
):
    postgres_server.empty()
    with two_tenants(tmp_path, store=postgres_server.url) as (acme, zenith):
        postgres_server.ask(REFUSE.format(code=CODES[why]))
        acme.fail()
        zenith.go_on()
        acme.fail()
        zenith.go_on()
    postgres_server.empty()
