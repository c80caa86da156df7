"""Sockets under the connections: names resolved in daemon threads, answers read in small pieces.

An event loop resolves names in its default executor. A resolution that hangs there blocks a thread
that others need, and the process waits for it at its end; a daemon thread has neither problem.

A parser processes everything of one read before the event loop continues, and no call can be given
up meanwhile. Ten thousand chunks of one byte fit into one read of the usual size.
"""

import asyncio
import socket
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from ipaddress import ip_address
from ssl import SSLContext
from time import monotonic
from typing import Any

import httpcore2

READ_BYTES = 1_024
"""Most bytes of one read."""

_Option = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]


class Resolver:
    """Resolves names, each only once at a time for all that wait for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[tuple[str, int], Future[list[str]]] = {}

    async def resolve(self, host: str, port: int) -> list[str]:
        """Return the addresses of a host, each once, in the order of the system.

        Raises:
            OSError: there is no such host.
        """
        try:
            return [str(ip_address(host))]
        except ValueError:
            return await asyncio.wrap_future(self._looked_up((host, port)))

    def _looked_up(self, key: tuple[str, int]) -> "Future[list[str]]":
        with self._lock:
            if key not in self._under_way:
                future: Future[list[str]] = Future()
                future.set_running_or_notify_cancel()  # a caller may only cancel itself
                threading.Thread(
                    target=self._look_up, args=(key, future), name="toolscout-dns", daemon=True
                ).start()
                self._under_way[key] = future
            return self._under_way[key]

    def _look_up(self, key: tuple[str, int], future: "Future[list[str]]") -> None:
        found: list[str] | None = None
        error: BaseException | None = None
        try:
            infos = socket.getaddrinfo(*key, type=socket.SOCK_STREAM)
            found = list(dict.fromkeys(str(info[4][0]) for info in infos))
        except BaseException as raised:
            error = raised
        with self._lock:
            self._under_way.pop(key, None)
        if found is None:
            future.set_exception(error or OSError("no address"))
        else:
            future.set_result(found)


class Network(httpcore2.AsyncNetworkBackend):
    """The connections of a client."""

    def __init__(self) -> None:
        self._sockets = httpcore2.AnyIOBackend()
        self._resolver = Resolver()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[_Option] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first address of a host that takes the connection.

        Raises:
            httpcore2.ConnectTimeout: the time, in seconds, was up first.
            httpcore2.ConnectError: there is no such host, or none of its addresses answers.
        """
        until = None if timeout is None else monotonic() + timeout
        try:
            async with asyncio.timeout(timeout):
                addresses = await self._resolver.resolve(host, port)
        except TimeoutError:
            raise httpcore2.ConnectTimeout("name resolution") from None
        except (OSError, UnicodeError) as error:
            raise httpcore2.ConnectError(str(error)) from error
        failure: Exception = httpcore2.ConnectError("no address")
        for number, address in enumerate(addresses):
            # An address that drops packets must leave time for the next ones.
            share = None if until is None else (until - monotonic()) / (len(addresses) - number)
            try:
                stream = await self._sockets.connect_tcp(
                    address, port, share, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
            else:
                return _Stream(stream)
        raise failure

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._sockets.sleep(seconds)


class _Stream(httpcore2.AsyncNetworkStream):
    """A connection that is read in small pieces, yielding to the event loop between them."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = await self._stream.read(min(max_bytes, READ_BYTES), timeout)
        if len(data) == READ_BYTES:
            await asyncio.sleep(0)  # data that TLS has already decrypted arrives without a wait
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        return _Stream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def use(network: Network, client: Any) -> None:
    """Route all connections of an `httpx2.AsyncClient` through a network.

    The client has no argument for it, and a transport would disable the environment's proxies.
    """
    for transport in (client._transport, *client._mounts.values()):
        pool = getattr(transport, "_pool", None)
        if pool is not None:
            pool._network_backend = network
