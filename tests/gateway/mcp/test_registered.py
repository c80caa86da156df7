"""Logins as a client that a person has registered, and at servers that register nobody."""

import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.client.upstream import peer
from tests.gateway.mcp.authorizer import Authorizer
from tests.gateway.mcp.hosts import inside, write
from tests.support import free_port, until
from toolscout.cli import main
from toolscout.gateway.mcp import oauth

Command = Callable[..., tuple[int, str]]


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Run the gateway's command; returns its status and all that it has printed."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("THE_SECRET", "hunter22")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(servers: dict[str, Any], *flags: str) -> tuple[int, str]:
        status = main(["mcp", "--config", str(write(tmp_path, servers)), "--no-cache", *flags])
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    return run


@contextmanager
def asking(
    authorizer: Authorizer, monkeypatch: pytest.MonkeyPatch, auth: Any
) -> Iterator[dict[str, Any]]:
    """Yield the configuration of a server that asks for OAuth, with a person who consents."""
    monkeypatch.setattr(oauth.webbrowser, "open", authorizer.open)
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True, raising=False)
    with peer(authorizer) as fake:
        authorizer.url = fake.url
        yield {"odd": {"url": f"{fake.url}/mcp", "auth": auth}}


def known(**more: Any) -> dict[str, Any]:
    port = {"callback_port": free_port()}
    return {"client_id": "known", "client_secret": "${THE_SECRET}", **port, **more}


METHODS = pytest.mark.parametrize(
    ("publishes", "methods", "how"),
    [
        (False, None, "client_secret_post"),
        (True, None, "client_secret_post"),
        (True, ["client_secret_basic", "client_secret_post"], "client_secret_post"),
        (True, ["client_secret_basic"], "client_secret_basic"),
    ],
)
"""What a server publishes of how clients send their secrets, and how ours does."""


@METHODS
def test_a_registered_client_logs_in_and_is_let_in(
    tmp_path: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    publishes: bool,
    methods: list[str] | None,
    how: str,
):
    authorizer = Authorizer(methods=methods, publishes=publishes)
    auth = known(scopes=["read", "write"])
    with asking(authorizer, monkeypatch, auth) as servers:
        assert command(servers, "--check")[0] == 2
        status, said = command(servers, "--login", "odd")
        assert said.endswith("odd: logged in\n")
        assert status == 0
        (address,) = authorizer.asked
        params = httpx2.URL(address).params
        assert params["client_id"] == "known"
        assert params["redirect_uri"] == f"http://localhost:{auth['callback_port']}/callback"
        assert params["scope"] == "read write"
        assert authorizer.grants == [f"{how} authorization_code"]
        status, checked = command(servers, "--check")
        assert status == 0
        listed = command(servers, "--list")[1]
        with inside(tmp_path, servers) as office:
            until(lambda: office.names() == {"odd__work"})
            assert not office.call("odd__work").is_error
        assert "hunter22" not in said + checked + listed + office.stderr
    (kept,) = (tmp_path / "state" / "toolscout" / "mcp").glob("*.json")
    assert kept.stat().st_mode & 0o777 == 0o600


@METHODS
def test_a_token_is_renewed_as_the_registered_client(
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    publishes: bool,
    methods: list[str] | None,
    how: str,
):
    authorizer = Authorizer(methods=methods, publishes=publishes)
    with asking(authorizer, monkeypatch, known()) as servers:
        assert command(servers, "--login", "odd")[0] == 0
        authorizer.token = "newer"
        assert command(servers, "--check")[0] == 0
        assert authorizer.grants[1:] == [f"{how} refresh_token"]


def test_a_port_that_is_taken_is_said(command: Command, monkeypatch: pytest.MonkeyPatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with asking(Authorizer(), monkeypatch, known(callback_port=port)) as servers:
            monkeypatch.setattr(oauth.webbrowser, "open", bool)
            printed = command(servers, "--login", "odd")[1]
    assert printed.endswith(f"odd: no login: port {port}, for the way back, is taken\n")


def test_a_client_that_registers_itself_asks_for_the_scopes_of_the_file(
    command: Command, monkeypatch: pytest.MonkeyPatch
):
    authorizer = Authorizer(registers=True)
    with asking(authorizer, monkeypatch, {"scopes": "read mine"}) as servers:
        assert command(servers, "--login", "odd")[1].endswith("odd: logged in\n")
        assert httpx2.URL(authorizer.asked[0]).params["scope"] == "read mine"


@pytest.mark.parametrize(
    ("authorizer", "auth", "said"),
    [
        (
            Authorizer(),
            "oauth",
            "the server registers no clients: register one with it by hand, with the redirect URI "
            "http://localhost:19877/callback, and write its client_id in auth, or give the server "
            "a header with a token in place of auth",
        ),
        (
            Authorizer(publishes=False),
            "oauth",
            "the server does not say how to log in: give it a header with a token in place of auth",
        ),
        (
            Authorizer(("known", "another")),
            None,
            'Token exchange failed (401): {"error": "invalid_client", '
            '"error_description": "not ***"}',
        ),
    ],
)
def test_what_a_login_lacks_is_said_in_a_line_without_a_page_or_a_secret(
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    authorizer: Authorizer,
    auth: Any,
    said: str,
):
    with asking(authorizer, monkeypatch, auth or known()) as servers:
        status, printed = command(servers, "--login", "odd")
        assert status == 2
        assert printed.splitlines()[-1] == f"toolscout: odd: no login: {said}"
        assert "hunter22" not in printed
        needed = "needs login: toolscout mcp --config FILE --login odd"
        assert needed in command(servers, "--check")[1]
