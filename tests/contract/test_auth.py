"""Keys: where they may stand, rotation, and what needs none."""

import sys

import pytest

from tests.conftest import ACME_NEW, ACME_OLD, ZENITH
from tests.support import GATEWAY, SEARCH, Server, problem_of, toolscout
from toolscout.errors import ConfigurationError
from toolscout.server.http.auth import Keyring

BODY = {"pattern": "read a file", "tools": [{"name": "read_file"}]}
KEY = "k" * 32


def tenant(ring: Keyring, key: str) -> str | None:
    found = ring.find([(b"x-api-key", key.encode())])
    return None if found is None else found.tenant


@pytest.mark.parametrize("path", [SEARCH, GATEWAY])
def test_both_headers_are_accepted_on_both_paths(keyed: Server, path: str):
    for header in [
        "Authorization: Bearer ",
        "authorization: bearer ",
        "X-API-Key: ",
        "x-api-key: ",
    ]:
        for key in [ACME_OLD, ACME_NEW, ZENITH]:
            name, _, scheme = header.partition(": ")
            assert keyed.post(BODY, path, {name: scheme + key}).status_code == 200


@pytest.mark.parametrize("path", [SEARCH, GATEWAY])
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer"},
        {"authorization": ZENITH},
        {"authorization": f"Basic {ZENITH}"},
        {"authorization": f"Bearer {ZENITH[:-1]}"},
        {"authorization": f"Bearer {ZENITH}x"},
        {"authorization": f"Bearer acme={ACME_OLD}"},
        {"authorization": f"Bearer {ZENITH.upper()}"},
        {"x-api-key": ""},
        {"x-api-key": "acme"},
    ],
)
def test_without_a_valid_key_nothing_is_answered(keyed: Server, path: str, headers: dict):
    response = keyed.post(BODY, path, headers)
    body = problem_of(response, 401, "unauthorized")
    assert response.headers["www-authenticate"].startswith("Bearer")
    assert "read_file" not in response.text
    assert ZENITH[:8] not in str(body)


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({}, "no key was sent"),
        ({"authorization": ZENITH}, "send Authorization: Bearer KEY"),
        ({"x-api-key": "k" * 40}, "this service has no such key"),
        ({"x-api-key": f"acme={ACME_OLD}"}, "of tenant=KEY in its settings, send KEY alone"),
        ({"x-api-key": ZENITH, "authorization": f"Bearer {ACME_OLD}"}, "two different keys"),
    ],
)
def test_a_wrong_key_is_told_apart_from_none(keyed: Server, headers: dict, said: str):
    assert said in problem_of(keyed.post(BODY, SEARCH, headers), 401, "unauthorized")["detail"]


def test_the_key_is_checked_before_the_body(keyed: Server):
    problem_of(keyed.post(b"{"), 401, "unauthorized")


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/docs", "/docs/errors", "/openapi.json"])
def test_probes_and_documents_need_no_key(keyed: Server, path: str):
    assert keyed.get(path).status_code == 200


def test_metrics_need_a_key_only_when_told(keyed: Server, server: Server):
    assert server.get("/metrics").status_code == 200
    problem_of(keyed.get("/metrics"), 401, "unauthorized")
    assert keyed.get("/metrics", authorization=f"Bearer {ZENITH}").status_code == 200


def test_two_keys_of_one_tenant_are_a_rotation():
    ring = Keyring(f"acme={KEY}1, acme={KEY}2\n{KEY}3,")
    assert len(ring) == 3
    first, second, third = (tenant(ring, f"{KEY}{n}") for n in (1, 2, 3))
    assert first == second == "acme"
    assert third not in (None, "acme")


@pytest.mark.parametrize("again", [f"zen={KEY}1", f"{KEY}1", f"acme={KEY}1;scopes=search"])
def test_a_key_stands_for_one_caller(again: str):
    with pytest.raises(ConfigurationError) as refused:
        Keyring(f"acme={KEY}1,acme={KEY}2,{again}")
    expected = "api_keys: key 3 came before, with another tenant or other options"
    assert str(refused.value) == expected
    assert len(Keyring(f"acme={KEY}1,acme={KEY}1")) == 2  # twice the same says the same


def test_bare_keys_are_tenants_of_their_own():
    ring = Keyring(f"{KEY}1,{KEY}2")
    tenants = {tenant(ring, f"{KEY}{n}") for n in (1, 2)}
    assert len(tenants) == 2
    assert not any(KEY in tenant for tenant in tenants if tenant)


@pytest.mark.parametrize("entry", ["{}", "acme={}"])
@pytest.mark.parametrize("padding", ["=", "=="])
def test_keys_may_end_in_base64_padding(entry: str, padding: str):
    key = KEY + padding
    ring = Keyring(entry.format(key))
    assert ring.find([(b"authorization", f"Bearer {key}".encode())]) is not None


@pytest.mark.parametrize("keys", ["short", f"{KEY},short", "acme=short", "acme="])
def test_short_keys_are_refused_without_being_shown(keys: str):
    with pytest.raises(ConfigurationError) as refused:
        Keyring(keys)
    assert "32" in refused.value.detail
    assert "short" not in refused.value.detail


@pytest.mark.parametrize(
    ("host", "keys"),
    [("0.0.0.0", ""), ("::", ","), ("192.0.2.1", "")],
)
def test_an_open_address_needs_a_key(host: str, keys: str):
    done = toolscout("serve", "--host", host, "--port", "0", TOOLSCOUT_API_KEYS=keys)
    assert done.returncode == 2
    assert "TOOLSCOUT_API_KEYS" in done.stderr
    assert "--insecure" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_name_that_only_begins_as_the_loopback_one_does_is_served_nowhere():
    done = toolscout("serve", "--host", "localhost.example.invalid", "--port", "0")
    assert done.returncode == 2
    assert "there is no such address" in done.stderr
    assert "--insecure" not in done.stderr


def test_reading_keys_takes_as_many_steps_for_each_however_many_there_are():
    """Counted are calls of functions, which no clock and no busy machine changes."""

    def steps(count: int) -> float:
        calls = 0

        def called(frame: object, event: str, argument: object) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        text = "\n".join(f"t{number}={number:040d}" for number in range(count))
        sys.setprofile(called)
        try:
            ring = Keyring(text)
            ring.find([(b"x-api-key", b"%040d" % (count - 1))])
        finally:
            sys.setprofile(None)
        return calls / count

    assert steps(2_000) < 1.5 * steps(200)
