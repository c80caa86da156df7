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
        self._make: Callable[..., TransportT] = make
        self._direct: TransportT = make() if inner is None else inner
        self._proxies = EnvironmentProxies() if inner is None else None
        self._through: dict[httpx2.Proxy, TransportT] = {}

    def transport_for(self, url: httpx2.URL) -> TransportT:
        """Return the transport that leads to a URL.

        Raises:
            RuntimeError: they have been closed.
            UnusableProxyError: the environment names a proxy that cannot be used.
        """
        if not self._is_open:
            raise RuntimeError("the transport has been closed")
        proxy = None if self._proxies is None else self._proxies.find(url)
        if proxy is None:
            return self._direct
        if proxy not in self._through:
            self._through[proxy] = self._make(proxy=proxy)
        return self._through[proxy]

    def end(self) -> Iterator[TransportT]:
        """Choose none any more, and yield those that have to be closed."""
        self._is_open = False
        yield self._direct
        yield from self._through.values()
