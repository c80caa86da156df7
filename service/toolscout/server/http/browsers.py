"""Refuse requests that a page in somebody's browser could send.

Without keys, any program that reaches the port may call, and so could any page that is open in a
browser on the same machine. A page cannot choose `Host` and `Origin`, nor send JSON to another
origin without its permission, so these are checked: `Host` must be a name of the service, `Origin`
its own page, and bodies must be declared as JSON.
"""

from functools import lru_cache
from urllib.parse import urlsplit

from toolscout.common.loopback import is_loopback
from toolscout.server.http.refusals import Refused
from toolscout.server.http.request import Request
from toolscout.settings import Settings


class BrowserGuard:
    """Refuses requests that only a foreign page would send."""

    def __init__(self, settings: Settings) -> None:
        self._is_local = is_loopback(settings.host)
        names = (settings.allowed_hosts or "").split(",")
        self._names = frozenset(name.strip().lower() for name in names if name.strip())

    def check(self, request: Request, *, is_keyless: bool) -> None:
        """Check the headers of a request.

        Raises:
            Refused: `Host` or `Origin` is foreign, or a body has no media type.
        """
        host = request.header(b"host").decode("latin-1").lower()
        if (self._names or (is_keyless and self._is_local)) and not self._is_ours(host):
            raise Refused("misdirected", "the Host of this request is not one of allowed_hosts")
        if not is_keyless:
            return
        origin = request.header(b"origin").decode("latin-1").lower()
        if origin and not self._is_permitted(origin, host):
            raise Refused("forbidden", "the Origin of this request is not this service")
        if request.has_body and not request.header(b"content-type"):
            raise Refused("unsupported_media_type", "send Content-Type: application/json")

    def _is_ours(self, host: str) -> bool:
        """Return whether a Host names this service; HTTP/1.0, which no browser uses, needs none.

        Loopback names always do, because no name server can resolve them elsewhere.
        """
        return not host or self._is_listed(host) or _is_loopback_name(host)

    def _is_permitted(self, origin: str, host: str) -> bool:
        """Return whether a page of this origin may call: the service's own, or a listed one."""
        try:
            asking = urlsplit(origin).netloc
        except ValueError:
            return False
        return bool(asking) and (asking == host or self._is_listed(asking))

    def _is_listed(self, host: str) -> bool:
        return host in self._names or _name(host) in self._names


@lru_cache(maxsize=256)  # callers use few names, and parsing an address takes microseconds
def _is_loopback_name(host: str) -> bool:
    return is_loopback(_name(host))


def _name(host: str) -> str:
    """Return the name or address in `name:port`, an IPv6 address without its brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
