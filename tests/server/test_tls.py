"""TLS and mutual TLS with real certificates: who is served, and what is refused at the start."""

import signal
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from time import time

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from tests.certificates import Authority, Pair
from tests.support import TOOLS, Process, running, toolscout, until
from toolscout.client import Selector
from toolscout.errors import ConfigurationError
from toolscout.server.observe.log import LineWriter
from toolscout.serving.tls import Certificate, make_options, read_end
from toolscout.settings_sources import load

DAY_S = 86_400


@dataclass
class Mutual:
    """A server that asks callers for a certificate."""

    server: Process
    authority: Authority
    caller: Pair
    own: Pair
    """The files of the server's own certificate."""

    def status(self, tls: ssl.SSLContext) -> int:
        """Return the status of one search on a connection of its own."""
        with self.server.new_client(tls) as client:
            body = {"pattern": "read a file", "tools": TOOLS}
            return client.post("/v1/tool-discovery/search", json=body).status_code

    def serial(self) -> str:
        """Which certificate the server shows to a new connection."""
        tls = self.authority.trusting(self.caller)
        with (
            socket.create_connection(("127.0.0.1", self.server.port)) as bare,
            tls.wrap_socket(bare, server_hostname="localhost") as secured,
        ):
            shown = secured.getpeercert()
            assert shown is not None
            return str(shown["serialNumber"])


@pytest.fixture(scope="module")
def mutual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mutual]:
    folder = tmp_path_factory.mktemp("mutual")
    authority = Authority(folder)
    caller = authority.issue("caller")
    own = authority.issue("server", server=True)
    flags = ["--tls-cert", str(own.cert), "--tls-key", str(own.key)]
    flags += ["--tls-client-ca", str(authority.file)]
    with running(folder, *flags, tls=authority.trusting(caller)) as server:
        yield Mutual(server, authority, caller, own)


def test_a_caller_with_a_certificate_of_the_authority_is_served(mutual: Mutual):
    assert mutual.status(mutual.authority.trusting(mutual.caller)) == 200


def test_a_caller_without_one_of_the_authority_is_refused(mutual: Mutual, tmp_path: Path):
    assert_strangers_are_refused(mutual, tmp_path)


def test_an_expired_certificate_is_refused(mutual: Mutual):
    assert_refused(mutual, mutual.authority.issue("expired", age=timedelta(days=1)))


def test_plain_http_gets_no_answer(mutual: Mutual):
    with pytest.raises(httpx2.TransportError):
        httpx2.get(f"http://127.0.0.1:{mutual.server.port}/healthz", trust_env=False)


def test_the_client_shows_its_certificate(mutual: Mutual):
    with Selector(
        mutual.server.url, verify=mutual.authority.trusting(mutual.caller), timeout=10
    ) as selector:
        assert selector.select("read a text file", TOOLS, top_k=1).names == ["read_file"]
    with Selector(mutual.server.url, verify=mutual.authority.trusting(), timeout=10) as selector:
        assert selector.select("read a text file", TOOLS, top_k=1).reason == "api_error"


def test_the_banner_says_https_and_that_a_certificate_is_needed(mutual: Mutual):
    assert f"is ready at https://127.0.0.1:{mutual.server.port}" in mutual.server.stderr
    assert "callers need a certificate" in mutual.server.stderr
    assert "--cacert" in mutual.server.stderr
    assert "Traceback" not in mutual.server.stderr


def test_a_renewed_certificate_holds_without_a_restart_and_a_wrong_one_changes_nothing(
    mutual: Mutual,
):
    server, before = mutual.server, mutual.serial()
    key = mutual.own.key.read_bytes()
    mutual.own.key.write_text("no key", "utf-8")
    server.signal(signal.SIGHUP)
    until(lambda: "certificate_kept" in server.stdout)
    assert mutual.serial() == before
    mutual.own.key.write_bytes(key)
    renewed = mutual.authority.issue("renewed", server=True)
    mutual.own.replace(renewed)
    until(lambda: mutual.serial() != before)
    assert mutual.status(mutual.authority.trusting(mutual.caller)) == 200
    until(lambda: "certificate_changed" in server.stdout)


def test_no_handshake_fails_while_certificates_are_exchanged(tmp_path: Path):
    authority = Authority(tmp_path)
    pairs = [authority.issue(name, server=True) for name in ("one", "other")]
    live = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    live.load_cert_chain(pairs[0].cert, pairs[0].key)
    held = authority.issue("server", server=True)
    settings = load({"tls_cert": str(held.cert), "tls_key": str(held.key)}, environ={})
    certificate = Certificate(settings, live, LineWriter(1))
    exchanged = threading.Event()

    def renew() -> None:
        for number in range(200):
            held.replace(pairs[number % 2])
            certificate.files.check()
        exchanged.set()

    renewing = threading.Thread(target=renew)
    renewing.start()
    try:
        while not exchanged.is_set():
            shake_hands(live, authority.trusting())
    finally:
        renewing.join()


def shake_hands(server: ssl.SSLContext, caller: ssl.SSLContext) -> None:
    """Shake hands in memory; raise where either side refuses it."""
    to_server, to_caller = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        caller.wrap_bio(to_caller, to_server, server_hostname="localhost"),
        server.wrap_bio(to_server, to_caller, server_side=True),
    ]
    while sides:
        for side in list(sides):
            with suppress(ssl.SSLWantReadError):
                side.do_handshake()
                sides.remove(side)


def test_a_renewed_certificate_asks_callers_for_theirs_too(mutual: Mutual, tmp_path: Path):
    before = mutual.serial()
    mutual.own.replace(mutual.authority.issue("again", server=True))
    mutual.server.signal(signal.SIGHUP)
    until(lambda: mutual.serial() != before)
    assert_strangers_are_refused(mutual, tmp_path)


def assert_strangers_are_refused(mutual: Mutual, folder: Path) -> None:
    """Refused are who has no certificate, and who has one of another authority."""
    assert_refused(mutual, None)
    assert_refused(mutual, Authority(folder, "stranger").issue("caller"))


def assert_refused(mutual: Mutual, pair: Pair | None) -> None:
    with pytest.raises(httpx2.TransportError):
        mutual.status(mutual.authority.trusting(pair))


def test_tls_alone_serves_callers_without_a_certificate(tmp_path: Path):
    authority = Authority(tmp_path)
    pair = authority.issue("server", server=True)
    both = tmp_path / "both.pem"
    both.write_bytes(pair.cert.read_bytes() + pair.key.read_bytes())
    with running(tmp_path, "--tls-cert", str(both), tls=authority.trusting()) as server:
        assert server.names("read a text file", top_k=1) == ["read_file"]


@pytest.mark.parametrize("years", [1, 40])
def test_the_end_of_a_certificate_is_read_from_its_file(tmp_path: Path, years: int):
    """After 2049 a certificate writes it in another form."""
    pair = Authority(tmp_path).issue("server", server=True, lasts=timedelta(days=366 * years))
    (certificate,) = x509.load_pem_x509_certificates(pair.cert.read_bytes())
    both = tmp_path / "both.pem"
    both.write_bytes(pair.key.read_bytes() + pair.cert.read_bytes())
    assert read_end(str(both)) == certificate.not_valid_after_utc
    assert read_end(str(pair.key)) is None


def test_a_certificate_that_ends_soon_is_named_and_measured_until_it_is_renewed(tmp_path: Path):
    authority = Authority(tmp_path)
    pair = authority.issue("server", server=True, lasts=timedelta(days=13))
    flags = ["--tls-cert", str(pair.cert), "--tls-key", str(pair.key)]
    checked = toolscout("check-config", *flags)
    assert checked.returncode == 0
    assert f"warning: certificate {pair.cert} ends at" in checked.stderr
    sample = f'toolscout_certificate_expiry_timestamp_seconds{{file="{pair.cert}"}}'
    with running(tmp_path, *flags, tls=authority.trusting()) as server:
        until(lambda: f"warning certificate {pair.cert} ends at" in server.stderr)
        assert server.metric(sample) == pytest.approx(time() + 13 * DAY_S, abs=300)
        (expiring,) = server.get("/readyz?verbose").json()["expiring"]
        assert expiring.startswith(f"certificate {pair.cert} ends at")
        renewed = authority.issue("renewed", server=True, lasts=timedelta(days=90))
        pair.replace(renewed)
        until(lambda: server.metric(sample) > time() + 80 * DAY_S)
        assert "certificate_expires" not in server.stdout
        pair.replace(authority.issue("short", server=True, lasts=timedelta(hours=1)))
        until(lambda: "certificate_expires" in server.stdout)
        pair.replace(renewed)
        assert "warning" not in toolscout("check-config", *flags).stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tls_cert": "nowhere.pem"}, "tls_cert: cannot read .*nowhere.pem: No such file"),
        ({"tls_cert": "."}, "tls_cert: cannot read .*: Is a directory"),
        ({"tls_cert": "text"}, "tls_cert: .*text.*must hold the key too.*PEM"),
        ({"tls_cert": "server.pem", "tls_key": "nowhere.key"}, "tls_key: cannot read"),
        ({"tls_cert": "server.pem", "tls_key": "caller.key"}, "tls_cert: .*caller.key"),
        ({"tls_cert": "server.pem", "tls_key": "secret.key"}, "tls_key: is encrypted"),
        ({"tls_key": "server.key"}, "tls_key: means nothing without tls_cert"),
        ({"tls_client_ca": "authority.pem"}, "tls_client_ca: means nothing without tls_cert"),
        (
            {"tls_cert": "server.pem", "tls_key": "server.key", "tls_client_ca": "text"},
            "tls_client_ca: .*text: no certificates",
        ),
    ],
)
def test_what_is_wrong_with_the_files_is_said_before_listening(
    files: Path, given: dict[str, str], said: str
):
    settings = load({name: str(files / path) for name, path in given.items()}, {})
    with pytest.raises(ConfigurationError, match=said):
        make_options(settings)


def test_a_key_given_in_place_of_its_path_is_never_shown(files: Path):
    for command in ("check-config", "serve"):
        variables = {
            "TOOLSCOUT_TLS_CERT": str(files / "server.pem"),
            "TOOLSCOUT_TLS_KEY_FILE": str(files / "server.key"),
        }
        done = toolscout(command, **variables)
        assert done.returncode == 2
        assert "tls_key: expected the path of a file" in done.stderr
        assert "PRIVATE" not in done.stdout + done.stderr


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    authority = Authority(folder)
    authority.issue("server", server=True)
    authority.issue("caller")
    (folder / "text").write_text("plain text", "utf-8")
    (folder / "secret.key").write_bytes(_encrypted(folder / "server.key"))
    return folder


def _encrypted(path: Path) -> bytes:
    key = serialization.load_pem_private_key(path.read_bytes(), None)
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"passphrase"),
    )
