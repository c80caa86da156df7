"""Two processes on one store: digests and experience reach the other one, tenants stay apart."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ACME_NEW, ACME_OLD, ZENITH
from tests.redis_server import RedisServer
from tests.support import SEARCH, TOOLS, Server, crowd, problem_of, running, until

FEEDBACK = "/v1/tool-discovery/feedback"
WORKED = {"pattern": "ship the parcel", "tool": "resize_image", "success": True}


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("redis", marks=pytest.mark.integration)]
)
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, Server]]:
    """Two services on one store: one with an older key of the tenant acme, one with a newer."""
    if request.param == "redis":
        store = request.getfixturevalue("redis_server").url
    else:
        store = f"sqlite:{tmp_path_factory.mktemp('state') / 'state.db'}"
    with ExitStack() as stack:
        servers = [
            stack.enter_context(
                running(
                    tmp_path_factory.mktemp("one_of_two"),
                    "--learning",
                    TOOLSCOUT_STORE=store,
                    TOOLSCOUT_API_KEYS=f"acme={key},zenith={ZENITH}",
                )
            )
            for key in (ACME_OLD, ACME_NEW)
        ]
        yield servers[0], servers[1]


def known(server: Server, digest: str, key: str, path: str = SEARCH, **fields: Any) -> bool:
    body = {"catalog": digest, "latency_budget_ms": 60_000, **fields}
    return server.post(body, path, {"x-api-key": key}).status_code == 200


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


def failures(server: Server) -> float:
    return sum(
        server.metric(f'toolscout_store_failures_total{{action="{action}"}}')
        for action in ("get", "put", "read", "append")
    )


@pytest.mark.integration
def test_a_redis_that_hangs_or_is_full_fails_no_search(tmp_path: Path, redis_server: RedisServer):
    flags = ["--learning", "--store", redis_server.url]
    with running(tmp_path, *flags) as server:
        digest = server.search("read", crowd(5, "before")).headers["x-catalog-digest"]
        for trouble in (redis_server.hanging, redis_server.full):
            with trouble():
                for number in range(12):
                    tools = crowd(5, f"during{trouble.__name__}{number}")
                    assert server.search("turn", tools).status_code == 200
                    assert server.post({"pattern": "spin", "catalog": digest}).status_code == 200
                    unknown = server.post({"pattern": "spin", "catalog": "0" * 64})
                    problem_of(unknown, 404, "catalog_unknown")
                assert server.get("/readyz").status_code == 200
                until(lambda: failures(server) > 0)

        def kept() -> bool:
            return server.post(WORKED, FEEDBACK).status_code == 202

        until(kept)


@pytest.mark.integration
def test_feedback_that_redis_does_not_take_is_not_acknowledged(
    tmp_path: Path, redis_server: RedisServer
):
    with running(tmp_path, "--learning", "--store", redis_server.url) as server:
        with redis_server.hanging():
            problem_of(server.post(WORKED, FEEDBACK), 503, "overloaded")
        until(lambda: server.post(WORKED, FEEDBACK).status_code == 202)


def test_a_large_list_reaches_the_other_process_though_no_search_waits_for_it(
    pair: tuple[Server, Server],
):
    one, two = pair
    body = {"tools": crowd(3_000, "cog")}
    put = one.client.put("/v1/catalogs/mill", json=body, headers={"x-api-key": ACME_OLD})
    assert put.status_code == 201
    until(lambda: known(two, "mill", ACME_NEW, pattern="spin cog 7"))


def test_a_tenant_whose_name_begins_like_a_path_reaches_nothing(tmp_path: Path):
    keys = f"acme={ACME_OLD},acme/prod={ZENITH}"
    with running(tmp_path, TOOLSCOUT_API_KEYS=keys) as server:
        tools = {"tools": crowd(2, "secret")}
        server.client.put("/v1/catalogs/vault", json=tools, headers={"x-api-key": ZENITH})
        assert known(server, "vault", ZENITH, pattern="spin")
        for name in ("prod/vault", "vault", "prod%2Fvault"):
            assert not known(server, name, ACME_OLD, pattern="spin")
