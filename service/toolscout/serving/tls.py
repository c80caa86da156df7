"""TLS: the certificate, and whose certificates callers need.

With `tls_client_ca` a caller without a certificate of that authority gets no connection (mutual
TLS). Certificate and key are followed (`followed_files`), and read at once on SIGHUP: a renewed
pair holds from the next connection on, and a wrong one changes nothing.
"""

import re
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from toolscout.errors import ConfigurationError
from toolscout.serving.connections import Events
from toolscout.serving.followed_files import FollowedFiles
from toolscout.settings import Settings

EXPIRES_SOON = timedelta(days=14)
"""A key or certificate that ends within this time is warned of; the alerts do the same."""

_NAMES = ("tls_cert", "tls_key", "tls_client_ca")

_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.S)
_VALIDITY = re.compile(rb"\x30.(?:(?:\x17\r|\x18\x0f)(\d{12,14}Z)){2}", re.S)
"""A sequence of two times in DER: UTCTime, with two digits of the year, or GeneralizedTime."""


def make_options(settings: Settings) -> dict[str, Any]:
    """Return what uvicorn needs to know; nothing without a certificate.

    Raises:
        ConfigurationError: a file is missing, unreadable, encrypted or not what it should be.
    """
    paths = {name: path for name in _NAMES if (path := getattr(settings, name))}
    for name, path in paths.items():
        _check_file(name, path)
    if not settings.tls_cert:
        if paths:
            raise ConfigurationError(f"{next(iter(paths))}: means nothing without tls_cert")
        return {}
    _make_context(settings.tls_cert, settings.tls_key, settings.tls_client_ca)
    kwargs: dict[str, Any] = {"ssl_certfile": settings.tls_cert, "ssl_keyfile": settings.tls_key}
    if settings.tls_client_ca:
        kwargs |= {"ssl_ca_certs": settings.tls_client_ca, "ssl_cert_reqs": ssl.CERT_REQUIRED}
    return kwargs


def read_end(path: str) -> datetime | None:
    """Return when the first certificate of a file ends; None if that cannot be read.

    `ssl` parses only certificates of a connection that it has verified.
    """
    first = _PEM.search((_read_bytes(path) or b"").decode("ascii", "replace"))
    times = first and _VALIDITY.search(ssl.PEM_cert_to_DER_cert(first[0]))
    if not times:
        return None
    year = "%y" if len(times[1]) == len("YYMMDDhhmmssZ") else "%Y"
    return datetime.strptime(times[1].decode(), f"{year}%m%d%H%M%S%z")


class Certificate:
    """The files of a running server's certificate, and what they held last.

    A renewed pair gets a context of its own, which new connections are handed in their handshake.
    Loading it into the live context would leave that without a matching key for a moment, in which
    every handshake fails.
    """

    def __init__(self, settings: Settings, live: ssl.SSLContext, log: Events) -> None:
        """Follow the files for the context that answers new connections."""
        assert settings.tls_cert is not None
        self._files = settings.tls_cert, settings.tls_key
        self._client_ca = settings.tls_client_ca
        self._renewed: ssl.SSLContext | None = None
        self._log = log
        self.expires = read_end(self._files[0])
        """When the certificate in use ends, if that can be read."""
        self.files = FollowedFiles(self._read, self._renew, self._read())
        live.sni_callback = self._hand_over

    def _renew(self, _: list[bytes | None]) -> None:
        """Use what the files hold now, if that is right."""
        try:
            self._renewed = _make_context(*self._files, self._client_ca)
        except (ConfigurationError, OSError) as error:
            reason = error.detail if isinstance(error, ConfigurationError) else str(error)
            self._log.error("certificate_kept", reason=reason)
            return
        self.expires = read_end(self._files[0])
        self._log.info("certificate_changed")
        if is_ending_soon(self.expires):
            self._log.warning("certificate_expires", at=str(self.expires))

    def _hand_over(
        self, connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _: ssl.SSLContext
    ) -> None:
        """Answer a handshake with the renewed certificate; called with or without SNI."""
        if self._renewed is not None:
            connection.context = self._renewed

    def _read(self) -> list[bytes | None]:
        return [_read_bytes(name) for name in self._files if name]


def is_ending_soon(date: datetime | None) -> bool:
    """Return whether a key or certificate has ended or ends soon; one without a date does not."""
    return date is not None and date <= datetime.now(UTC) + EXPIRES_SOON


def _make_context(cert: str, key: str | None, client_ca: str | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(cert, key, password=_refuse_password)
    except ssl.SSLError as error:
        where = f"{cert} and {key}" if key else f"{cert} (which must hold the key too)"
        reason = "not a certificate and its key in PEM"
        raise ConfigurationError(f"tls_cert: {where}: {reason} ({_explain(error)})") from None
    if client_ca:
        try:
            context.load_verify_locations(client_ca)
        except ssl.SSLError as error:
            raise ConfigurationError(
                f"tls_client_ca: {client_ca}: no certificates in PEM ({_explain(error)})"
            ) from None
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _refuse_password() -> str:
    raise ConfigurationError("tls_key: is encrypted; give a key without a passphrase")


def _explain(error: ssl.SSLError) -> str:
    return error.reason or "unknown format"


def _check_file(name: str, path: str) -> None:
    if "-----BEGIN" in path:  # never shown: it may be the key
        raise ConfigurationError(f"{name}: expected the path of a file, got the text of one")
    try:
        Path(path).read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{name}: cannot read {path}: {error.strerror}") from None


def _read_bytes(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except OSError:
        return None
