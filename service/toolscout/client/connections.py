"""Post a request over HTTP and read its answer, within a wall-clock cap.

The cap holds over everything: waiting for a connection, name resolution, connecting, TLS, writing,
a server that drips bytes, decompression. Timeouts of single reads could not promise that, so a
request runs as a separate task, which is abandoned when its time is up.
"""

import asyncio
import logging
import ssl
from collections.abc import Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from time import monotonic
from typing import Any

import httpx2
import msgspec

from toolscout.client.answer import AnswerError, BoundedBody
from toolscout.client.network import Network, use
from toolscout.common.addresses import is_loopback

logger = logging.getLogger("toolscout.client")

KEEPALIVE_S = 60.0
"""Seconds that idle connections are kept; the service keeps them longer."""

CONNECT_SHARE = 0.45
"""Share of the remaining time for connecting, and then for a TLS handshake. It must end in a
timeout and not in a cancellation, which would leave the socket open."""

CLOSE_S = 0.5
"""Seconds that closing waits for abandoned requests."""

BLOCKED_S = 0.25
"""How long after its time a wait must end for the event loop to be blamed, and not the service."""


class Reply(msgspec.Struct, frozen=True):
    """An answer, whatever its status. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300


class Failure(msgspec.Struct, frozen=True):
    """No answer, and why."""

    detail: str
    again: bool = False
    """Whether a second try may fare better."""
    blame: bool = True
    """Whether the breaker counts it; not if the caller closed the selector meanwhile."""


class Progress:
    """The progress of a call, read by the thread that stops waiting for it."""

    __slots__ = ("attempts", "begun", "connected")

    def __init__(self) -> None:
        self.attempts = 0
        self.begun: float | None = None
        """When the current request began, in monotonic seconds; None between two requests."""
        self.connected: float | None = None
        """When it had a connection."""


TOO_LATE = Failure("no usable answer within the timeout")
NO_CONNECTION = Failure("no connection was free within the timeout", blame=False)
CONGESTED = Failure("this process was too busy to read an answer in time", blame=False)
CLOSED = Failure("the selector was closed", blame=False)


class Connections:
    """Connections to one endpoint, for one event loop at a time."""

    def __init__(
        self,
        url: httpx2.URL,
        max_connections: int,
        verify: ssl.SSLContext | bool,
        trust_env: bool,
    ) -> None:
        self.url = url
        self._limits = httpx2.Limits(
            max_connections=max_connections,
            max_keepalive_connections=max_connections,
            keepalive_expiry=KEEPALIVE_S,
        )
        # Reading the system's certificates takes longer than a call; plain http needs none.
        self._verify = verify if url.scheme == "https" else False
        self._trust_env = trust_env and not is_loopback(url.host)
        self._client: httpx2.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._warned = False
        self._under_way: set[asyncio.Task[Reply | Failure]] = set()
        self._left_behind: set[asyncio.Task[Reply | Failure]] = set()

    async def post(
        self,
        headers: dict[str, str],
        body: bytes,
        deadline: float,
        progress: Progress,
        path: str | None = None,
    ) -> Reply | Failure:
        """Send a request and read its answer before the deadline (monotonic seconds).

        Without a path it goes to that of the endpoint. Failures are returned, never raised.
        """
        progress.attempts += 1
        progress.begun, progress.connected = monotonic(), None
        remaining = deadline - monotonic()
        if remaining <= 0:
            return CONGESTED
        url = self.url if path is None else self.url.copy_with(path=path)
        task = asyncio.ensure_future(self._exchange(url, headers, body, deadline, progress))
        self._under_way.add(task)
        try:
            await asyncio.wait((task,), timeout=remaining)
        finally:
            self._under_way.discard(task)
            if not task.done():
                task.cancel()
                self._left_behind.add(task)
                task.add_done_callback(self._left_behind.discard)
        if not task.done():
            return too_late(progress, is_blocked=monotonic() - deadline > BLOCKED_S)
        return CLOSED if task.cancelled() else task.result()

    async def aclose(self) -> None:
        """Close all connections."""
        client, self._client = self._client, None
        if client is None or self._loop is not asyncio.get_running_loop():
            return
        left = (*self._under_way, *self._left_behind)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=CLOSE_S)
        await client.aclose()
        for _ in range(2):  # a socket closes one turn of the loop later
            await asyncio.sleep(0)

    async def _exchange(  # noqa: PLR0911  # one end for each way an exchange ends
        self,
        url: httpx2.URL,
        headers: dict[str, str],
        body: bytes,
        deadline: float,
        progress: Progress,
    ) -> Reply | Failure:
        reused = True
        answered = False

        async def trace(event: str, _: dict[str, Any]) -> None:
            nonlocal reused
            if progress.connected is None:
                progress.connected = monotonic()  # the first event comes when a connection is free
            if event.endswith("connect_tcp.started"):
                reused = False

        try:
            client = self._connected()
        except Exception as error:
            return self._unusable(error)
        try:
            async with client.stream(
                "POST",
                # The HTTP library logs the URL of every request; a query may hold a key.
                url.copy_with(query=None, fragment=None),
                content=body,
                headers=headers,
                extensions={"trace": trace, **({"target": url.raw_path} if url.query else {})},
                timeout=httpx2.Timeout(None, connect=CONNECT_SHARE * (deadline - monotonic())),
            ) as response:
                answered = True
                return await _read(response)
        except AnswerError as error:
            return Failure(str(error))
        except httpx2.ConnectTimeout:
            return Failure("cannot connect in time", again=True)
        except httpx2.ConnectError as error:
            if _is_tls(error):
                return Failure("TLS handshake failed")
            return Failure("cannot connect", again=True)
        except (httpx2.NetworkError, httpx2.RemoteProtocolError) as error:
            if answered:
                return Failure("the answer broke off")
            # The server just closed this idle connection, so it has not read the request.
            return Failure(f"connection lost ({type(error).__name__})", again=reused)
        except Exception as error:
            return Failure(f"request failed ({type(error).__name__})")

    def _unusable(self, error: Exception) -> Failure:
        """Log once that no connection is possible, such as with a wrong proxy variable."""
        if not self._warned:
            self._warned = True
            logger.warning(
                "no connection can be made, every search falls open: %s; is a proxy variable of "
                "the environment (ALL_PROXY, HTTPS_PROXY, HTTP_PROXY) wrong?",
                type(error).__name__,
            )
        return Failure("no connection can be made with the environment's proxy", blame=False)

    def _connected(self) -> httpx2.AsyncClient:
        """Return the client of the running event loop; connections cannot move between loops."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._loop = loop
            self._client = httpx2.AsyncClient(
                limits=self._limits,
                verify=self._verify,
                trust_env=self._trust_env,
                timeout=None,  # the cap in `post` covers more than these timeouts
                follow_redirects=False,
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            )
            use(Network(), self._client)
        return self._client


def too_late(progress: Progress, *, is_blocked: bool = False) -> Failure:
    """Tell whether the service or this process caused a timeout; call from any thread."""
    if is_blocked or progress.begun is None:
        return CONGESTED
    # The service had enough time if it was longer than the wait for a connection.
    now = monotonic()
    had = 0.0 if progress.connected is None else now - progress.connected
    return TOO_LATE if had > 0.5 * (now - progress.begun) else NO_CONNECTION


async def _read(response: httpx2.Response) -> Reply:
    headers = response.headers
    lowered = {name.lower(): value for name, value in headers.items()}
    try:
        body = BoundedBody(headers.get("content-encoding", ""))
        async for chunk in response.aiter_raw():
            body.feed(chunk)
        return Reply(response.status_code, lowered, body.finish())
    except AnswerError:
        if response.is_success:
            raise
        return Reply(response.status_code, lowered, b"")  # the status is enough


def _is_tls(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return True
        error = error.__cause__ or error.__context__
    return False
