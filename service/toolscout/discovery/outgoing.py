"""The transports that send a request on: the caller's own, or through the environment's proxies."""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import httpx2

from toolscout.client.proxies import EnvironmentProxies

TransportT = TypeVar("TransportT", httpx2.BaseTransport, httpx2.AsyncBaseTransport)


class Outgoing(Generic[TransportT]):
    """Chooses the transport of each URL, as a client of httpx2 does.

    Args:
        inner: the caller's own, for every URL; None to make those that the environment asks for.
        make: makes one, which goes through `proxy` if that is given.
    """

    def __init__(self, inner: TransportT | None, make: Callable[..., TransportT]) -> None:
        self._is_open = True
        self._direct: TransportT = make() if inner is None else inner
        self._proxies = EnvironmentProxies() if inner is None else None
        self._through: dict[httpx2.Proxy, TransportT] = {}
        for proxy in self._proxies.all() if self._proxies else ():
            self._through[proxy] = make(proxy=proxy)

    def transport_for(self, url: httpx2.URL) -> TransportT:
        """Return the transport that leads to a URL.

        Raises:
            RuntimeError: they have been closed.
        """
        if not self._is_open:
            raise RuntimeError("the transport has been closed")
        proxy = None if self._proxies is None else self._proxies.find(url)
        return self._direct if proxy is None else self._through[proxy]

    def end(self) -> Iterator[TransportT]:
        """Choose none any more, and yield those that have to be closed."""
        self._is_open = False
        yield self._direct
        yield from self._through.values()
