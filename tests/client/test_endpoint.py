"""The endpoint: what is one, what is near, and what of it is never told."""

import logging

import httpx2
import pytest

from tests.client.upstream import TOOLS, Exchange, peer
from toolscout.client import ConfigurationError, InvalidArgument, endpoint
from toolscout.common.addresses import is_loopback
from toolscout.discovery import DiscoveryConfig
from toolscout.turns.config import ApiConfig


def read_file(exchange: Exchange) -> None:
    exchange.select("read_file")


@pytest.mark.parametrize(
    "malformed",
    [
        *("http://x y/", "http://%", "http://a..b/", "http://.", "http://-", "http://-a.b"),
        *("http://", "https:///path", "ftp://x", "//x", "localhost:8080", "http://x:0"),
        *("http://x:70000", "http://[::1", "http://" + "a" * 64, "x" * 70_000),
        "http://" + ".".join(["a" * 60] * 5),
    ],
    ids=lambda text: text[:20],
)
def test_what_is_no_url_of_a_host_is_refused_when_a_selector_is_made(make, malformed):
    with pytest.raises(InvalidArgument, match="endpoint: expected an http:// or https:// URL"):
        make(malformed)


@pytest.mark.parametrize("name", ["<backend>", "<your-host>", "{{ host }}", "<HOST NAME>"])
def test_a_placeholder_of_a_sample_is_named_with_what_to_write_instead(make, name):
    with pytest.raises(InvalidArgument) as raised:
        make(f"https://{name}/v1/tool-discovery/search")
    assert f"endpoint: replace {name} by the address of the service" in str(raised.value)


def test_a_key_in_the_place_of_the_endpoint_is_not_repeated(make):
    with pytest.raises(InvalidArgument) as raised:
        make("sk-hunter2hunter2")
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    "url",
    [
        *("http://x", "http://my_service:80", "http://a.b.", "https://127.0.0.1:1/p", "HTTP://X"),
        *("http://[::1]:9", "http://ünïcode.example", "http://127.1:9"),
    ],
)
def test_what_is_a_url_of_a_host_is_an_endpoint(url):
    assert endpoint.read(url) is not None


@pytest.mark.parametrize(
    ("host", "near"),
    [
        *((host, True) for host in ("localhost", "LOCALHOST.", "a.localhost", "127.0.0.1")),
        *((host, True) for host in ("127.8.9.1", "127.1", "[::1]")),
        *((host, False) for host in ("localhost.example", "127.example.org", "localhosts")),
        *((host, False) for host in ("10.0.0.127", "[::2]", "127x")),
    ],
)
def test_this_machine_is_told_from_names_that_begin_like_it(host, near):
    assert is_loopback(httpx2.URL(f"http://{host}:80/").host) is near


def test_no_secret_of_an_endpoint_is_logged_and_the_key_is_what_is_sent(make, caplog):
    with peer(read_file) as fake, caplog.at_level(logging.DEBUG):
        url = f"http://user:hunter2@127.0.0.1:{fake.port}/p?key=qsecret&b=1"
        selection = make(url, api_key="topsecret").select("x", TOOLS)
    assert selection.names == ["read_file"]
    assert fake.requests[0].headers["authorization"] == "Bearer topsecret"
    assert fake.requests[0].path == "/p?key=qsecret&b=1"
    assert "user and password are not sent" in caplog.text
    for secret in ("hunter2", "qsecret", "topsecret"):
        assert secret not in caplog.text


def test_a_configuration_shows_no_secret():
    api = ApiConfig("http://user:hunter2@x.example/p?key=qsecret", "topsecret")
    shown = repr(DiscoveryConfig(api=api))
    assert "x.example/p" in shown
    assert not any(secret in shown for secret in ("hunter2", "qsecret", "topsecret"))
    assert "malformed" in repr(ApiConfig("http://x:hunter2"))


@pytest.mark.parametrize("key", ["api_key", "endpoint"])
def test_an_error_about_a_secret_does_not_repeat_it(key):
    with pytest.raises(
        ConfigurationError, match=f"api.{key}: expected text, got a whole number"
    ) as raised:
        DiscoveryConfig.of({"api": {key: 123456789}})
    assert "123456789" not in str(raised.value)


def test_a_pin_that_no_request_can_carry_is_kept_here(make):
    odd = {"name": "odd\ud800", "description": "x"}
    with peer(read_file) as fake:
        selection = make(fake.url).select("x", [*TOOLS, odd], always_keep=[odd["name"]])
    assert selection.names == ["read_file", odd["name"]]
    assert "always_keep" not in fake.requests[0].json
