"""Tokens of an authorization server in place of keys: each is verified, and says a profile."""

import hmac
import json
import threading
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.server.auth.providers.jwt import RSAKeyPair
from joserfc.jwk import RSAKey

from tests.gateway.mcp.hosts import connected, listening, write
from tests.gateway.mcp.test_http import ACCEPTS, HELLO
from tests.gateway.mcp.test_profiles import KEYS, SERVERS, config
from tests.support import until
from toolscout.cli import main

pytestmark = pytest.mark.integration

RESOURCE = "https://tools.example/mcp"
METADATA = "/.well-known/oauth-protected-resource"
KEYPAIR, FOREIGN = RSAKeyPair.generate(), RSAKeyPair.generate()


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    """Yield an authorization server of which only the metadata and the keys are asked."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content: dict[str, Any] = {"issuer": url, "jwks_uri": f"{url}/jwks"}
            if self.path == "/jwks":
                key = RSAKey.import_key(KEYPAIR.public_key).as_dict()
                content = {"keys": [key | {"kid": "first", "alg": "RS256"}]}
            elif self.path == "/other/.well-known/openid-configuration":
                content = {"issuer": "http://attacker.example", "jwks_uri": f"{url}/jwks"}
            elif self.path != "/.well-known/oauth-authorization-server":
                self.send_error(404)
                return
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield url
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def url(issuer: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield a gateway that takes tokens, with profiles."""
    folder = tmp_path_factory.mktemp("authorization")
    flags = ["--http", "127.0.0.1:PORT", "--authorization-server", issuer, "--resource", RESOURCE]
    with listening(folder, "-m", "toolscout", "mcp", "--config", str(config(folder)), *flags) as (
        served,
        _,
    ):
        yield served


def status(url: str, token: str) -> int:
    headers = ACCEPTS | {"Authorization": f"Bearer {token}"}
    return httpx2.post(url, json=HELLO, headers=headers).status_code


def servers(url: str, token: str, folder: Path) -> set[str]:
    with connected(StreamableHttpTransport(url, auth=token), folder) as office:
        until(lambda: office.names() != set())
        return {name.partition("__")[0] for name in office.names()}


def token(issuer: str, *scopes: str, pair: RSAKeyPair = KEYPAIR, **more: Any) -> str:
    claims = {"issuer": issuer, "audience": RESOURCE, "kid": "first"} | more
    return pair.create_token(scopes=list(scopes), **claims)


def forged(issuer: str, algorithm: str) -> str:
    """Return a token that nobody has signed, or who knows the public key alone."""
    claims = token(issuer, "office").split(".")[1]
    head = json.dumps({"alg": algorithm, "kid": "first"}).encode()
    body = f"{urlsafe_b64encode(head).decode().rstrip('=')}.{claims}"
    signature = hmac.digest(KEYPAIR.public_key.encode(), body.encode(), "sha256")
    end = "" if algorithm == "none" else urlsafe_b64encode(signature).decode().rstrip("=")
    return f"{body}.{end}"


def test_a_host_without_a_token_is_told_where_to_get_one_and_no_more(url: str, issuer: str):
    refused = httpx2.post(url, json=HELLO, headers=ACCEPTS)
    assert refused.status_code == 401
    where = f"https://tools.example{METADATA}/mcp"
    assert refused.headers["www-authenticate"] == f'Bearer resource_metadata="{where}"'
    for path in (METADATA, f"{METADATA}/mcp"):
        assert httpx2.get(str(httpx2.URL(url).copy_with(path=path))).json() == {
            "resource": RESOURCE,
            "authorization_servers": [issuer],
            "bearer_methods_supported": ["header"],
        }


def test_a_token_has_the_first_profile_among_its_scopes(url: str, issuer: str, tmp_path: Path):
    assert servers(url, token(issuer, "openid", "office"), tmp_path) == {"notes"}
    assert servers(url, token(issuer, "books"), tmp_path) == {"library"}
    assert servers(url, token(issuer, "books", "office"), tmp_path) == {"notes"}
    assert servers(url, KEYS["books"], tmp_path) == {"library"}
    assert status(url, token(issuer, "sales")) == 401
    assert status(url, token(issuer)) == 401


@pytest.mark.parametrize(
    "wrong",
    [
        {"audience": "https://other.example/mcp"},
        {"audience": None},
        {"issuer": "http://attacker.example"},
        {"expires_in_seconds": -1},
        {"additional_claims": {"exp": None}},
        {"additional_claims": {"nbf": 4_000_000_000}},
        {"pair": FOREIGN},
        {"pair": FOREIGN, "kid": "second"},
    ],
)
def test_a_token_that_is_not_of_this_server_for_this_gateway_is_refused(
    url: str, issuer: str, wrong: dict[str, Any]
):
    given = {"issuer": issuer} | wrong
    assert status(url, token(given.pop("issuer"), "office", **given)) == 401


@pytest.mark.parametrize("algorithm", ["none", "HS256", "RS256"])
def test_a_forged_token_is_refused(url: str, issuer: str, algorithm: str):
    assert status(url, forged(issuer, algorithm)) == 401


@pytest.mark.parametrize(
    "odd", ["x", "a.b.c", "e30.e30.", "bnVsbA.e30.e30", "W10.e30.e30", "é.e.e"]
)
def test_what_is_no_token_is_refused(url: str, odd: str):
    headers = {name: one.encode() for name, one in ACCEPTS.items()}
    headers["Authorization"] = b"Bearer " + odd.encode()
    assert httpx2.post(url, json=HELLO, headers=headers).status_code == 401


def test_without_profiles_a_token_has_everything_and_nobody_else(issuer: str, tmp_path: Path):
    path = str(write(tmp_path, {"notes": SERVERS["notes"]}))
    flags = ["--http", "127.0.0.1:PORT", "--authorization-server", issuer]
    with listening(tmp_path, "-m", "toolscout", "mcp", "--config", path, *flags) as (url, _):
        assert httpx2.get(str(httpx2.URL(url).copy_with(path=METADATA))).json()["resource"] == url
        assert status(url, token(issuer, audience=url)) == 200
        assert status(url, token(issuer)) == 401
        assert httpx2.post(url, json=HELLO, headers=ACCEPTS).status_code == 401
        log = (tmp_path / "stderr").read_text("utf-8")
        assert "Traceback" not in log


def test_without_an_authorization_server_there_is_no_metadata(tmp_path: Path):
    path = str(write(tmp_path, {"notes": SERVERS["notes"]}))
    command = ["-m", "toolscout", "mcp", "--config", path, "--http", "127.0.0.1:PORT"]
    with listening(tmp_path, *command) as (url, _):
        assert httpx2.get(str(httpx2.URL(url).copy_with(path=METADATA))).status_code == 404


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--authorization-server", "https://a"], "authorization-server: expected --http, too"),
        (["--http", "1", "--authorization-server", "a"], "authorization-server: expected an http"),
        (
            ["--http", "1", "--authorization-server", "http://127.0.0.1:1", "--resource", "b"],
            "resource: expected an http:// or https:// URL",
        ),
        (["--http", "1", "--authorization-server", "http://127.0.0.1:1"], "does not say as its"),
        (["--http", "1", "--authorization-server", "ISSUER/other"], "does not say as its issuer"),
    ],
)
def test_a_wrong_authorization_server_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], issuer: str, flags: list[str], said: str
):
    flags = [flag.replace("ISSUER", issuer) for flag in flags]
    assert main(["mcp", "--config", str(config(tmp_path)), *flags]) == 2
    assert said in capsys.readouterr().err
