"""Two processes on one store: digests and experience reach the other one, tenants stay apart."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ACME_NEW, ACME_OLD, ZENITH
from tests.contract.learning import FEEDBACK, WORKED
from tests.contract.two_processes import SERVERS, known, pair
from tests.in_process import serving
from tests.postgres_server import PostgresServer
from tests.redis_server import RedisServer
from tests.support import PATIENCE_S, TOOLS, Server, crowd, problem_of, running, until
from toolscout.state.redis import READ_S
from toolscout.state.sqlite import SqliteStore

__all__ = ["pair"]  # a fixture, found by its name


def test_a_digest_is_known_to_the_other_process_after_a_key_was_rotated(
    pair: tuple[Server, Server],
):
    one, two = pair
    sent = one.search("turn the astrolabe", crowd(7, "astrolabe"), headers={"x-api-key": ACME_OLD})
    digest = sent.headers["x-catalog-digest"]
    until(lambda: known(two, digest, ACME_NEW, pattern="astrolabe"))
    asked = {"pattern": "astrolabe 3", "catalog": digest, "latency_budget_ms": 60_000}
    answers = [
        server.post(asked, headers={"x-api-key": key}).json()
        for server, key in ((one, ACME_OLD), (two, ACME_NEW))
    ]
    assert answers[0] == answers[1]
    assert answers[0]["selected_names"]


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/v1/tool-discovery/search:batch", {"patterns": ["turn it"]}),
        ("/v1/tool-discovery/resolve", {"names": ["sextant_1_spin"]}),
        ("/v1/tool-discovery/filter", {"query": "turn it"}),
    ],
)
def test_every_call_finds_shared_digests(
    pair: tuple[Server, Server], path: str, fields: dict[str, Any]
):
    one, two = pair
    tools = crowd(4, "sextant" + path[-3:])
    digest = one.search("turn", tools, headers={"x-api-key": ACME_OLD}).headers["x-catalog-digest"]
    until(lambda: known(two, digest, ACME_NEW, path, **fields))


def test_a_tenant_does_not_reach_the_lists_of_another(pair: tuple[Server, Server]):
    one, two = pair
    sent = one.search("turn", crowd(3, "octant"), headers={"x-api-key": ACME_OLD})
    digest = sent.headers["x-catalog-digest"]
    until(lambda: known(two, digest, ACME_NEW, pattern="octant"))
    for server in pair:
        body = {"pattern": "octant", "catalog": digest}
        problem_of(server.post(body, headers={"x-api-key": ZENITH}), 404, "catalog_unknown")


def test_what_one_process_learned_the_other_knows(pair: tuple[Server, Server]):
    one, two = pair
    told = one.post({"events": [WORKED] * 3}, FEEDBACK, {"x-api-key": ACME_OLD})
    assert told.status_code == 202

    def first(key: str) -> str:
        return two.names("ship the parcel", TOOLS, headers={"x-api-key": key})[:1] == [
            "resize_image"
        ]

    until(lambda: first(ACME_NEW))
    assert not first(ZENITH)
    assert two.client.delete("/v1/learning", headers={"x-api-key": ACME_NEW}).status_code == 204

    def forgotten() -> bool:
        body = one.get("/v1/learning", **{"x-api-key": ACME_OLD}).json()
        return bool(body["observations"] == 0)

    until(forgotten)


def test_the_reports_of_a_person_are_forgotten_and_the_others_stay(pair: tuple[Server, Server]):
    one, two = pair
    for session in ("ann", "bob"):
        told = one.post(WORKED | {"session": session}, FEEDBACK, {"x-api-key": ACME_OLD})
        assert told.status_code == 202

    def observed(server: Server, key: str) -> int:
        body = server.get("/v1/learning", **{"x-api-key": key}).json()
        return int(body["observations"])

    until(lambda: observed(two, ACME_NEW) == 2)
    gone = two.client.delete("/v1/learning?session=ann", headers={"x-api-key": ACME_NEW})
    assert gone.status_code == 204
    until(lambda: observed(one, ACME_OLD) == observed(two, ACME_NEW) == 1)
    again = two.client.delete("/v1/learning?session=ann", headers={"x-api-key": ACME_NEW})
    problem_of(again, 404, "not_found")


def failures(server: Server) -> float:
    return sum(
        server.metric(f'toolscout_store_failures_total{{action="{action}"}}')
        for action in ("get", "put", "read", "append")
    )


@pytest.fixture
def store_server(request: pytest.FixtureRequest) -> Iterator[RedisServer | PostgresServer]:
    """Yield the store of a test; one whose parameter says nothing has Redis."""
    server = request.getfixturevalue(getattr(request, "param", SERVERS[0]))
    yield server
    server.empty()


@pytest.fixture
def replica(tmp_path: Path, store_server: RedisServer | PostgresServer) -> Iterator[Server]:
    """Yield a service on a store, with a client that waits half as long as the store may take."""
    settings = {"TOOLSCOUT_STORE": store_server.url}
    with running(tmp_path, **settings) as server:
        server.client.timeout = READ_S / 2
        yield server


def ask_all_ways(server: Server, word: str, digest: str) -> None:
    """Return calls with new tools, known ones by digest and name, and unknown ones."""
    assert server.search("turn", crowd(5, word)).status_code == 200
    for known_as in (digest, "before"):
        assert server.post({"pattern": "spin", "catalog": known_as}).status_code == 200
    unknown = server.post({"pattern": "spin", "catalog": sha256(word.encode()).hexdigest()})
    problem_of(unknown, 404, "catalog_unknown")
    named = server.post({"pattern": "spin", "catalog": word})
    if named.status_code == 503:  # it may be registered elsewhere
        problem_of(named, 503, "store_unavailable")
        assert named.headers["retry-after"] == "1"
    else:
        problem_of(named, 404, "catalog_unknown")
    hot = server.post({"message": "spin", "catalog": digest}, "/v1/tool-discovery/hot")
    assert hot.status_code == 200
    assert server.get("/readyz").status_code == 200


@pytest.mark.integration
@pytest.mark.parametrize(
    ("store_server", "trouble"),
    [
        *((SERVERS[0], trouble) for trouble in ("hanging", "full", "killed")),
        *((SERVERS[1], trouble) for trouble in ("hanging", "killed")),
    ],
    indirect=["store_server"],
)
def test_trouble_with_the_store_amid_searches_fails_and_delays_none(
    replica: Server, store_server: RedisServer | PostgresServer, trouble: str
):
    tools = crowd(5, "before")
    digest = replica.search("read", tools).headers["x-catalog-digest"]
    assert replica.client.put("/v1/catalogs/before", json={"tools": tools}).status_code == 201
    assert replica.search("spin", catalog="before").status_code == 200
    assert replica.post({"events": [WORKED] * 3}, FEEDBACK).status_code == 202
    over = threading.Event()

    def ask(worker: int) -> int:
        asked = 0
        while not over.is_set():
            ask_all_ways(replica, f"{trouble}{worker}x{asked}", digest)
            asked += 1
        return asked

    with ThreadPoolExecutor(4) as workers:
        asking = [workers.submit(ask, number) for number in range(4)]
        try:
            before = failures(replica)
            with getattr(store_server, trouble)():
                if trouble == "full":  # it answers, so that nothing of it has failed
                    until(lambda: replica.post(WORKED, FEEDBACK).status_code == 503)
                else:
                    until(lambda: failures(replica) > before + 3)
                assert replica.names("ship the parcel")[:1] == ["resize_image"]
        finally:
            over.set()
        assert all(worker.result() > 0 for worker in asking)
    if trouble == "full":
        store_server.empty()
    replica.client.timeout = PATIENCE_S
    until(lambda: replica.post(WORKED, FEEDBACK).status_code == 202)


@pytest.mark.integration
def test_feedback_that_redis_does_not_take_is_not_acknowledged(
    tmp_path: Path, redis_server: RedisServer
):
    with running(tmp_path, "--store", redis_server.url) as server:
        with redis_server.hanging():
            problem_of(server.post(WORKED, FEEDBACK), 503, "store_unavailable")
        until(lambda: server.post(WORKED, FEEDBACK).status_code == 202)


@pytest.mark.integration
def test_a_name_that_the_store_does_not_answer_for_is_no_unknown_one(
    replica: Server, store_server: RedisServer | PostgresServer
):
    with store_server.hanging():
        answer = replica.post({"pattern": "spin", "catalog": "elsewhere"})
        problem_of(answer, 503, "store_unavailable")


@pytest.mark.integration
def test_a_name_whose_tools_were_evicted_is_no_unknown_one(
    tmp_path: Path, redis_server: RedisServer
):
    with running(tmp_path, "--store", redis_server.url, "--cache-bytes", "2000000") as server:
        put = server.client.put("/v1/catalogs/mill", json={"tools": crowd(60, "cog")})
        assert put.status_code == 201
        assert server.search("spin cog 7", catalog="mill").status_code == 200
        for number in range(12):
            server.search("spin", crowd(60, f"other{number}"))
        with redis_server.hanging():
            problem_of(server.search("spin cog 7", catalog="mill"), 503, "store_unavailable")
        until(lambda: server.search("spin cog 7", catalog="mill").status_code == 200)


def test_a_digest_is_waited_for_as_long_as_a_search_may_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A store that answers a moment later is no reason to have all tools sent again."""

    async def late(store: SqliteStore, key: str) -> bytes | None:
        for _ in range(200):  # many turns of the event loop, whatever time these take
            await asyncio.sleep(0.001)
        return await at_once(store, key)

    url, at_once = f"sqlite:{tmp_path / 'state.db'}", SqliteStore.get
    with serving(tmp_path, store=url) as one, serving(tmp_path, store=url) as other:
        sent = one.search("spin spindle 7", crowd(20, "spindle"))
        digest = sent.headers["x-catalog-digest"]
        until(lambda: other.search("spin", catalog=digest).status_code == 200)
    monkeypatch.setattr(SqliteStore, "get", late)
    with serving(tmp_path, store=url) as two:
        assert two.search("spin spindle 7", catalog=digest).status_code == 200
        problem_of(two.search("spin", catalog="0" * 64), 404, "catalog_unknown")


def test_a_tenant_whose_name_begins_like_a_path_reaches_nothing(tmp_path: Path):
    keys = f"acme={ACME_OLD},acme/prod={ZENITH}"
    with serving(tmp_path, api_keys=keys) as server:
        tools = {"tools": crowd(2, "secret")}
        server.client.put("/v1/catalogs/vault", json=tools, headers={"x-api-key": ZENITH})
        assert known(server, "vault", ZENITH, pattern="spin")
        for name in ("prod/vault", "vault", "prod%2Fvault"):
            assert not known(server, name, ACME_OLD, pattern="spin")
