"""Keys that can do less, what each may store, and the line in the log for every change."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest

from tests.conftest import ACME_OLD, ZENITH
from tests.in_process import serving
from tests.support import SEARCH, TOOLS, Server, problem_of, toolscout, until
from toolscout.errors import ConfigurationError
from toolscout.server.http.auth import SCOPES, Keyring

KEYS = {name: f"{name}-0123456789abcdef0123456789abcdef" for name in (*SCOPES, "all", "old")}
CATALOG = "/v1/catalogs/desk"
QUESTION = {"pattern": "read a file", "tools": TOOLS}
EVENT = {"pattern": "read a file", "tool": "read_file", "success": True}

CALLS = [
    ("search", "POST", SEARCH, QUESTION),
    ("search", "POST", "/v1/tool-discovery/resolve", {"names": ["readFile"], "tools": TOOLS}),
    ("search", "GET", CATALOG, None),
    ("search", "GET", f"{CATALOG}/tools", None),
    ("search", "POST", f"{CATALOG}/tools:batch", {"names": ["read_file"]}),
    ("search", "GET", "/v1/tool-discovery/insights?pattern=x", None),
    ("feedback", "POST", "/v1/tool-discovery/feedback", EVENT),
    ("write", "PUT", CATALOG, {"tools": TOOLS}),
    ("write", "PATCH", CATALOG, {"status": {"read_file": "unavailable"}}),
    ("write", "DELETE", "/v1/catalogs/other", None),
    ("admin", "GET", "/v1/stats", None),
    ("admin", "GET", "/v1/learning", None),
    ("admin", "DELETE", "/v1/learning", None),
]


@pytest.fixture(scope="module")
def scoped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a service with a key for every scope, one for all, and one that has expired."""
    entries = [f"acme={KEYS[scope]};scopes={scope}" for scope in SCOPES]
    entries += [f"acme={KEYS['all']}", f"acme={KEYS['old']};expires=2026-01-31"]
    keys = ",".join(entries)
    with serving(tmp_path_factory.mktemp("scoped"), log="off", api_keys=keys) as s:
        ask(s, "all", "PUT", CATALOG, {"tools": TOOLS}).raise_for_status()
        yield s


def ask(server: Server, key: str, method: str, path: str, body: object = None) -> httpx2.Response:
    headers = {"authorization": f"Bearer {KEYS[key]}"}
    return server.client.request(method, path, json=body, headers=headers)


@pytest.mark.parametrize(("scope", "method", "path", "body"), CALLS)
def test_a_call_needs_its_scope_and_no_other(scoped: Server, scope, method, path, body):
    for key in SCOPES - {scope}:
        refused = problem_of(ask(scoped, key, method, path, body), 403, "forbidden")
        assert refused["detail"] == f"this needs a key with the scope {scope}; yours has {key}"
    for key in (scope, "all"):
        assert ask(scoped, key, method, path, body).status_code in (200, 202, 204, 404)


def test_an_expired_key_is_refused_and_told_why(scoped: Server):
    refused = problem_of(ask(scoped, "old", "POST", SEARCH, QUESTION), 401, "unauthorized")
    assert refused["detail"] == "this key expired at 2026-01-31 00:00:00+00:00"


def test_every_attempt_to_change_something_is_in_the_log(scoped: Server):
    changed = ask(scoped, "write", "PUT", "/v1/catalogs/audited", {"tools": TOOLS})
    denied = ask(scoped, "search", "DELETE", "/v1/catalogs/audited")
    wanted = [response.headers["x-request-id"] for response in (changed, denied)]

    def lines() -> list[dict]:
        found = [json.loads(line) for line in scoped.stdout.splitlines()]
        return [line for line in found if line.get("request_id") in wanted]

    until(lambda: len(lines()) == 2)
    first, second = lines()
    known = {"level": "info", "event": "change", "tenant": "acme", "catalog": "audited"}
    assert known.items() <= first.items()
    assert (first["method"], first["status"]) == ("PUT", 201)
    assert (second["method"], second["status"]) == ("DELETE", 403)
    assert first["key"] != second["key"]
    assert not any(key in scoped.stdout for key in KEYS.values())


def test_a_key_without_options_may_do_everything_for_ever():
    (key,) = Keyring(f"acme={KEYS['all']}").keys
    assert (key.scopes, key.expires) == (SCOPES, None)


@pytest.mark.parametrize(
    ("options", "scopes", "expires"),
    [
        (";scopes=search+feedback", {"search", "feedback"}, None),
        ("; scopes = search + write", {"search", "write"}, None),
        (";expires=2027-01-31;scopes=write", {"write"}, datetime(2027, 1, 31, tzinfo=UTC)),
        (";scopes=admin;expires=2027-01-31T12Z", {"admin"}, datetime(2027, 1, 31, 12, tzinfo=UTC)),
    ],
)
def test_options_follow_a_key(options: str, scopes: set[str], expires: datetime | None):
    (key,) = Keyring(f"acme={KEYS['all']}{options}").keys
    assert (key.tenant, key.scopes, key.expires) == ("acme", scopes, expires)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (";scopes=serach", "key 1: there is no scope serach; the scopes are search, feedback"),
        (";scopes=", "key 1: there is no scope"),
        (
            ";scope=search",
            "key 1: there is no option scope; the options are scopes, expires, namespaces",
        ),
        (";expires=soon", "key 1: expires is no date such as 2027-01-31"),
    ],
)
def test_wrong_options_are_named_without_the_key(options: str, told: str):
    with pytest.raises(ConfigurationError) as refused:
        Keyring(f"acme={KEYS['all']}{options}")
    assert told in refused.value.detail
    assert KEYS["all"] not in refused.value.detail


def test_check_config_tells_what_keys_may_do(tmp_path: Path):
    keys = f"acme={KEYS['search']};scopes=search;expires=2027-01-31,{KEYS['all']}"
    done = toolscout("check-config", TOOLSCOUT_API_KEYS=keys)
    assert "of acme: search, until 2027-01-31 00:00:00+00:00\n" in done.stdout
    assert ": admin, feedback, search, write\n" in done.stdout
    assert not any(key in done.stdout for key in KEYS.values())


# What one of several tenants may take of a store that has a limit.


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


def test_a_store_that_others_filled_takes_deletions(tmp_path: Path):
    keys = f"acme={ACME_OLD},zenith={ZENITH}"
    store = {"store": f"sqlite:{tmp_path / 'state.db'}", "store_bytes": 1 << 20}
    with serving(tmp_path, api_keys=keys, **store) as server:
        zenith = {"x-api-key": ZENITH}
        assert put(server, "office", TOOLS, ZENITH) == 201
        for number in range(3):
            assert put(server, f"wheels{number}", LARGE) == 201
        filled = [put(server, f"more{number}", LARGE, ZENITH) for number in range(9)]
        assert filled[-4:] == [503] * 4
        assert server.client.delete("/v1/catalogs/office", headers=zenith).status_code == 204


@pytest.mark.parametrize("keys", ["", f"acme={ACME_OLD}"], ids=["no key", "one key"])
def test_a_tenant_alone_may_take_all(tmp_path: Path, keys: str):
    store = {"store": f"sqlite:{tmp_path / 'state.db'}", "store_bytes": 1 << 20}
    with serving(tmp_path, api_keys=keys, **store) as server:
        assert [put(server, f"wheels{n}", LARGE) for n in range(4)] == [201] * 4
