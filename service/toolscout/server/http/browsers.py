"""Requests that a page in somebody's browser could send.

Where no key is needed, whatever reaches the port may ask, and so could any page that is open in a
browser on the same machine. A page cannot choose `Host` and `Origin`, nor send JSON to another
origin unless that permits it, so these are checked: the service must be called by a name of its
own, by a page of its own if by any, and bodies must say that they are JSON.
"""

from functools import lru_cache
from urllib.parse import urlsplit

from toolscout.common.loopback import is_loopback
from toolscout.server.http.refusals import Refused
from toolscout.server.http.request import Request
from toolscout.settings import Settings


class BrowserGuard:
    """Refuses what only a page of somebody else would send."""

    def __init__(self, settings: Settings) -> None:
        self._is_local = is_loopback(settings.host)
        names = (settings.allowed_hosts or "").split(",")
        self._names = frozenset(name.strip().lower() for name in names if name.strip())

    def check(self, request: Request, *, is_keyless: bool) -> None:
        """Check the headers of a request.

        Raises:
            Refused: another Host than the service is called by, an Origin of others, or a body
                without a media type.
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
        """Return whether a Host names this service; HTTP/1.0, which no browser speaks, needs none.

        Loopback names always do: no name server can make them resolve elsewhere.
        """
        return not host or self._is_listed(host) or _is_loopback_name(host)

    def _is_permitted(self, origin: str, host: str) -> bool:
        """Return whether a page of this origin may ask: our own, or one that is listed."""
        try:
            asking = urlsplit(origin).netloc
        except ValueError:
            return False
        return bool(asking) and (asking == host or self._is_listed(asking))

    def _is_listed(self, host: str) -> bool:
        return host in self._names or _name(host) in self._names


@lru_cache(maxsize=256)  # callers use few names, and reading an address takes microseconds
def _is_loopback_name(host: str) -> bool:
    return is_loopback(_name(host))


def _name(host: str) -> str:
    """The name or address in `name:port`, an IPv6 address without its brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
