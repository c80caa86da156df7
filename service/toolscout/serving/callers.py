"""Who may call: the addresses that a server opens, and the pages that a browser shows.

Without keys, any program that reaches the port may call, and so could any page that is open in a
browser on the same machine. A page cannot choose `Host` and `Origin`, so these are checked: `Host`
must be a name of the server, `Origin` its own page.
"""

import socket
from functools import lru_cache
from http import HTTPStatus
from urllib.parse import urlsplit

from toolscout.common.addresses import is_loopback
from toolscout.errors import ConfigurationError

MIN_KEY_CHARS = 32
"""Minimum length of a key."""

FOREIGN_STATUS = {
    "misdirected": HTTPStatus.MISDIRECTED_REQUEST,
    "forbidden": HTTPStatus.FORBIDDEN,
}
"""Statuses of the refusals of `CallerGuard`."""


def check_reachable(host: str, variable: str, *, has_key: bool, insecure: bool) -> None:
    """Refuse an address that other machines can reach without a key.

    Raises:
        ConfigurationError: there is no key, and nobody wants that; or it is no address.
    """
    if "/" in host:
        raise ConfigurationError(f"host {host}: an address alone, such as 127.0.0.1")
    name, _, port = host.rpartition(":")
    if name and (":" not in name or name.endswith("]")):
        raise ConfigurationError(f"host {host}: an address without a port; add --port {port}")
    if not (has_key or insecure or is_loopback(host)):
        if not _has_address(host):
            raise ConfigurationError(f"host {host}: there is no such address")
        raise ConfigurationError(
            f"host {host} is reachable by others and no API key is set: "
            f"set {variable}, or pass --insecure if you want that"
        )


def _has_address(host: str) -> bool:
    try:
        return bool(socket.getaddrinfo(host.strip("[]"), None))
    except (OSError, UnicodeError):
        return False


def check_key(host: str, variable: str, key: str | None, *, insecure: bool) -> None:
    """Check the one key of a server, which a variable of the environment holds.

    Raises:
        ConfigurationError: others can reach the address and there is no key, or it is short.
    """
    check_reachable(host, variable, has_key=key is not None, insecure=insecure)
    if key is not None and len(key) < MIN_KEY_CHARS:
        raise ConfigurationError(f"{variable}: expected at least {MIN_KEY_CHARS} characters")


class CallerGuard:
    """Recognises requests that only a foreign page would send."""

    def __init__(self, host: str, allowed_hosts: str | None) -> None:
        """Accept the names of the address that is listened on, and those of a list with commas."""
        self._is_local = is_loopback(host)
        names = (allowed_hosts or "").split(",")
        self._names = frozenset(name.strip().lower() for name in names if name.strip())

    def refusal(self, host: bytes, origin: bytes, *, is_keyless: bool) -> tuple[str, str] | None:
        """Return code and detail of the refusal of a request, by its headers; None if it is fine.

        Without keys `Origin` is checked, and on a loopback address `Host`; a list of names is
        always.
        """
        name = host.decode("latin-1").lower()
        if (self._names or (is_keyless and self._is_local)) and not self._is_ours(name):
            return "misdirected", "the Host of this request is not one of allowed_hosts"
        asking = origin.decode("latin-1").lower()
        if is_keyless and asking and not self._is_permitted(asking, name):
            return "forbidden", "the Origin of this request is not this server"
        return None

    def _is_ours(self, host: str) -> bool:
        """Return whether a Host names this server; HTTP/1.0, which no browser uses, needs none.

        Loopback names always do, because no name server can resolve them elsewhere.
        """
        return not host or self._is_listed(host) or _is_loopback_name(host)

    def _is_permitted(self, origin: str, host: str) -> bool:
        """Return whether a page of this origin may call: the server's own, or a listed one."""
        try:
            asking = urlsplit(origin).netloc
        except ValueError:
            return False
        return bool(asking) and (asking == host or self._is_listed(asking))

    def _is_listed(self, host: str) -> bool:
        return host in self._names or _strip_port(host) in self._names


@lru_cache(maxsize=256)  # callers use few names, and parsing an address takes microseconds
def _is_loopback_name(host: str) -> bool:
    return is_loopback(_strip_port(host))


def _strip_port(host: str) -> str:
    """Return the name or address in `name:port`, an IPv6 address without its brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
