"""A tenant that asks too often gets 429 and is told when to come back; others are not touched."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ACME_NEW, ACME_OLD, ZENITH
from tests.in_process import serving
from tests.support import GATEWAY, Server, problem_of
from toolscout.server.http.admission import RateLimit

BODY = {"pattern": "read a file", "tools": [{"name": "read_file"}]}


def ask(server: Server, key: str, **kwargs: str):
    return server.post(BODY, headers={"authorization": f"Bearer {key}"}, **kwargs)


def test_one_tenant_is_limited_over_all_its_keys_and_no_other(tmp_path: Path):
    keys = f"acme={ACME_OLD},acme={ACME_NEW},{ZENITH}"
    with serving(tmp_path, rate_limit=0.02, api_keys=keys) as server:
        assert ask(server, ACME_OLD).status_code == 200
        refused = ask(server, ACME_NEW)
        problem_of(refused, 429, "rate_limited")
        assert 1 <= int(refused.headers["retry-after"]) <= 50
        assert problem_of(ask(server, ACME_OLD, path=GATEWAY), 429, "rate_limited")
        assert ask(server, ZENITH).status_code == 200
        assert server.get("/readyz").status_code == 200
        assert server.metric('toolscout_requests_total{outcome="rate_limited"}') == 2


def test_a_wrong_key_takes_nothing_from_a_tenant(tmp_path: Path):
    keys = f"acme={ACME_OLD}"
    with serving(tmp_path, rate_limit=0.02, api_keys=keys) as server:
        for _ in range(3):
            assert ask(server, ZENITH).status_code == 401
        assert ask(server, ACME_OLD).status_code == 200


@pytest.mark.parametrize("rate", [0.5, 1, 3, 100])
def test_a_burst_is_one_second_and_at_least_one_request(rate: float):
    limit = RateLimit(rate, clock=lambda: 0.0)
    allowed = sum(limit.take("acme") == 0 for _ in range(1_000))
    assert allowed == max(1, int(rate))


@given(st.floats(0.1, 1_000), st.lists(st.floats(0, 10, allow_subnormal=False), max_size=200))
def test_never_more_than_the_rate_and_one_burst(rate: float, pauses: list[float]):
    now = 0.0
    limit = RateLimit(rate, clock=lambda: now)
    allowed = 0
    for pause in pauses:
        now += pause
        allowed += limit.take("acme") == 0
    assert allowed <= max(1.0, rate) + now * rate + 1e-6


@given(st.floats(0.1, 1_000))
def test_after_the_time_it_names_a_request_is_allowed(rate: float):
    now = 0.0
    limit = RateLimit(rate, clock=lambda: now)
    wait = 0.0
    while not wait:
        wait = limit.take("acme")
    now += wait + 1e-6
    assert limit.take("acme") == 0
