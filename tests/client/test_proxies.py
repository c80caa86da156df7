"""Which proxy of the environment leads to a URL."""

import httpx2
import pytest

from toolscout.client.proxies import EnvironmentProxies, UnusableProxyError, read_proxy
from toolscout.discovery import Transport

VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def found(url: str) -> str | None:
    proxy = EnvironmentProxies().find(httpx2.URL(url))
    return None if proxy is None else str(proxy.url)


def test_without_a_variable_every_connection_is_direct():
    assert found("https://tools.example/x") is None


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://tools.example", "http://plain.proxy:1"),
        ("https://tools.example", "http://secure.proxy:2"),
    ],
)
def test_each_scheme_has_a_proxy_of_its_own(monkeypatch, url: str, expected: str):
    monkeypatch.setenv("http_proxy", "http://plain.proxy:1")
    monkeypatch.setenv("HTTPS_PROXY", "secure.proxy:2")
    monkeypatch.setenv("ALL_PROXY", "http://other.proxy:3")
    assert found(url) == expected


def test_one_variable_may_name_the_proxy_of_all_schemes(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "http://other.proxy:3")
    assert found("http://tools.example") == found("https://tools.example") == "http://other.proxy:3"


@pytest.mark.parametrize(
    ("entries", "url", "is_direct"),
    [
        ("*", "http://tools.example", True),
        ("other.example, tools.example", "http://tools.example", True),
        ("TOOLS.example", "http://tools.example", True),
        ("tools.example", "http://a.tools.example", True),
        ("tools.example", "http://mytools.example", False),
        (".tools.example", "http://a.tools.example", True),
        ("*.tools.example", "http://a.tools.example", True),
        (".tools.example", "http://tools.example", True),
        (".tools.example", "http://mytools.example", False),
        ("http://tools.example/", "http://tools.example", True),
        ("[fd00::]/8", "http://[fd00::5]", True),
        (".", "http://tools.example", False),
        ("localhost", "http://localhost:8080", True),
        ("10.0.0.1", "http://10.0.0.1:8080", True),
        ("10.0.0.1", "http://10.0.0.11", False),
        ("10.0.0.0/8", "http://10.1.2.3", True),
        ("10.0.0.0/8", "http://11.1.2.3", False),
        ("10.0.0.0/8", "http://tools.example", False),
        ("::1", "http://[::1]:8080", True),
        ("[::1]:8080", "http://[::1]:8080", True),
        ("[::1]:8080", "http://[::1]:8081", False),
        ("fd00::/8", "http://[fd00::5]", True),
        ("tools.example:8080", "http://tools.example:8080", True),
        ("tools.example:8080", "http://tools.example", False),
        ("tools.example:80", "http://tools.example", True),
        ("https://tools.example", "http://tools.example", False),
        ("https://tools.example", "https://tools.example", True),
        ("all://tools.example", "http://tools.example", True),
        (" , ,", "http://tools.example", False),
        ("[::1, ://, :80, 300.0.0.0/99", "http://tools.example", False),
    ],
)
def test_no_proxy_names_hosts_subdomains_networks_and_ports(
    monkeypatch, entries: str, url: str, is_direct: bool
):
    monkeypatch.setenv("ALL_PROXY", "http://other.proxy:3")
    monkeypatch.setenv("NO_PROXY", entries)
    assert (found(url) is None) is is_direct


def test_the_password_of_a_proxy_is_kept_apart_from_its_address():
    proxy = read_proxy("http://me:secret@proxy:1", "HTTP_PROXY")
    assert (str(proxy.url), proxy.auth) == ("http://proxy:1", ("me", "secret"))


UNUSABLE = (
    "foo://me:secret@x:1",
    "http://me:secret@[::1",
    "http://me:secret@x:y",
    "http://me:secret@x:99999",
    "http://",
    "socks5://me:secret@127.0.0.1:1",
)


@pytest.mark.parametrize("address", UNUSABLE)
def test_an_address_that_is_none_is_refused_by_its_variable_without_its_password(address: str):
    with pytest.raises(UnusableProxyError, match="the proxy variable HTTPS_PROXY") as refused:
        read_proxy(address, "HTTPS_PROXY")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("address", UNUSABLE)
def test_a_proxy_that_does_not_lead_to_a_url_costs_nothing(monkeypatch, address: str):
    monkeypatch.setenv("HTTPS_PROXY", address)
    assert found("http://tools.example") is None
    monkeypatch.setenv("ALL_PROXY", address)
    monkeypatch.setenv("NO_PROXY", "tools.example")
    assert found("http://tools.example") is None
    Transport("http://127.0.0.1:9").close()
