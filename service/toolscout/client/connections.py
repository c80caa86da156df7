"""Post a request over HTTP and read its answer, within a wall-clock cap.

The cap holds over everything: waiting for a connection, name resolution, connecting, TLS, writing,
a server that drips bytes, decompression. Timeouts of single reads could not promise that, so a
request runs as a separate task, which is abandoned when its time is up.
"""

import asyncio
import ssl
import zlib
from collections.abc import Mapping
from contextvars import ContextVar
from time import monotonic
from typing import Any

import httpcore2
import httpx2
import msgspec

from toolscout.client.answer import AnswerError
from toolscout.client.log import logger
from toolscout.client.proxies import EnvironmentProxies, UnusableProxyError
from toolscout.common.addresses import is_loopback

KEEPALIVE_S = 60.0
"""Seconds that idle connections are kept; the service keeps them longer."""

CONNECT_SHARE = 0.45
"""Share of the remaining time for connecting, and then for a TLS handshake. It must end in a
timeout and not in a cancellation, which would leave the socket open."""

READ_BYTES = 1_024
"""Most bytes of one read."""

MAX_BYTES = 1 << 20
"""Maximum bytes of an answer after decompression; far more than names need."""

ENCODINGS = ("", "identity", "gzip")

GZIP = zlib.MAX_WBITS | 16
"""Tells zlib to expect gzip."""

CLOSE_S = 0.5
"""Seconds that closing waits for abandoned requests."""


class HttpReply(msgspec.Struct, frozen=True):
    """An answer, or why there is none. Header names are lower case."""

    status: int = 0
    """The HTTP status; 0 without an answer."""
    headers: Mapping[str, str] = {}
    body: bytes = b""
    detail: str = ""
    """Why there is no answer."""
    again: bool = False
    """Whether a second try may fare better."""
    blame: bool = True
    """Whether the breaker counts it; not if it failed on the caller's side."""

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300


class Post(msgspec.Struct):
    """A request."""

    headers: dict[str, str]
    body: bytes
    deadline: float
    """When it must be answered, in monotonic seconds."""
    path: str | None = None
    """None for that of the endpoint."""
    times: list[float] = []
    """When it began, and when it had a connection."""
    reused: bool = True
    """Whether its connection was open before."""

    def note_connection(self) -> None:
        """Note the moment, unless it is noted already."""
        if len(self.times) == 1:
            self.times.append(monotonic())


OF_THE_NETWORK = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.TimeoutException,
    httpcore2.UnsupportedProtocol,
    OSError,
)
"""What sending a request raises for reasons that lie outside this process."""

_POST: ContextVar[Post] = ContextVar("post")
"""The request of the running task."""

TOO_LATE = HttpReply(detail="no usable answer within the timeout")
NO_CONNECTION = HttpReply(detail="no connection was free within the timeout", blame=False)
NO_TIME = HttpReply(detail="no time was left for a request", blame=False)
CLOSED = HttpReply(detail="the selector was closed", blame=False)


class Connections:
    """Connections to one endpoint, for one event loop at a time."""

    def __init__(
        self, url: httpx2.URL, max_connections: int, verify: ssl.SSLContext | bool, trust_env: bool
    ) -> None:
        self.url = url
        self._max_connections = max_connections
        self._verify = verify
        self._trust_env = trust_env and not is_loopback(url.host)
        self._warned: set[str] = set()
        self._pool: httpcore2.AsyncConnectionPool | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[HttpReply]] = set()

    async def post(self, post: Post) -> HttpReply:
        """Send a request and read its answer before the deadline; failures are returned."""
        begun = monotonic()
        post.times[:] = [begun]
        if post.deadline <= begun:
            return NO_TIME
        task = asyncio.ensure_future(self._exchange(post))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            await asyncio.wait((task,), timeout=post.deadline - begun)
        finally:
            if not task.done():
                task.cancel()
        if not task.done():
            return explain_timeout(post.times)
        return CLOSED if task.cancelled() else task.result()

    async def aclose(self) -> None:
        """Close all connections."""
        pool = self._pool
        self._pool = None
        if pool is None or self._loop is not asyncio.get_running_loop():
            return
        if left := tuple(self._tasks):
            for task in left:
                task.cancel()
            await asyncio.wait(left, timeout=CLOSE_S)
        await pool.aclose()
        for _ in range(2):  # a socket closes one turn of the loop later
            await asyncio.sleep(0)

    async def _exchange(self, post: Post) -> HttpReply:
        _POST.set(post)
        is_answered = False
        try:
            pool = self._connected()
        except UnusableProxyError as error:
            return self._report_proxy(error)
        except Exception as error:
            return self._report_own(error)
        try:
            response = await pool.handle_async_request(self._request(post))
            is_answered = True
            try:
                return await _read(response)
            finally:
                await response.aclose()
        except AnswerError as error:
            return HttpReply(detail=str(error))
        except OF_THE_NETWORK as error:
            return _explain_failure(error, is_answered, post.reused)
        except Exception as error:
            return self._report_own(error)

    def _request(self, post: Post) -> httpcore2.Request:
        """Write a request for the pool, without what a client adds: redirects, cookies, a log."""
        url = self.url if post.path is None else self.url.copy_with(path=post.path)
        headers = [
            (b"host", url.netloc),
            *((name.encode(), value.encode()) for name, value in post.headers.items()),
            (b"content-length", b"%d" % len(post.body)),
        ]
        scheme = url.raw_scheme
        host = url.raw_host
        target = url.raw_path
        where = httpcore2.URL(scheme=scheme, host=host, port=url.port, target=target)
        timeout = {"connect": CONNECT_SHARE * (post.deadline - monotonic())}
        return httpcore2.Request(
            b"POST", where, headers=headers, content=post.body, extensions={"timeout": timeout}
        )

    def _report_proxy(self, error: UnusableProxyError) -> HttpReply:
        """Log once that the environment names a proxy that cannot be used."""
        if "proxy" not in self._warned:
            self._warned.add("proxy")
            logger.warning("every search falls open: %s", error)
        return HttpReply(detail="the environment's proxy cannot be used", blame=False)

    def _report_own(self, error: Exception) -> HttpReply:
        """Log once, with its traceback, an error that is neither the network's nor the service's.

        A defect here, or a release of a library that no longer fits: the breaker does not count it.
        """
        kind = type(error).__name__
        if kind not in self._warned:
            self._warned.add(kind)
            logger.error("a search fell open by a defect of the client", exc_info=error)
        return HttpReply(detail=f"error of the client ({kind})", blame=False)

    def _connected(self) -> httpcore2.AsyncConnectionPool:
        """Return the pool of the running event loop; connections cannot move between loops."""
        loop = asyncio.get_running_loop()
        if self._pool is None or self._loop is not loop:
            self._loop = loop
            self._pool = self._new_pool()
        return self._pool

    def _new_pool(self) -> httpcore2.AsyncConnectionPool:
        """Make a pool; a client around it would take twice the CPU of a call."""
        context = None
        if self.url.scheme == "https":  # reading the system's certificates takes longer than a call
            context = httpx2.create_ssl_context(self._verify, trust_env=self._trust_env)
        proxy = EnvironmentProxies().find(self.url) if self._trust_env else None
        return httpcore2.AsyncConnectionPool(
            ssl_context=context,
            proxy=None if proxy is None else _for_pool(proxy),
            max_connections=self._max_connections,
            max_keepalive_connections=self._max_connections,
            keepalive_expiry=KEEPALIVE_S,
            network_backend=_Network(),
        )


def _for_pool(proxy: httpx2.Proxy) -> httpcore2.Proxy:
    return httpcore2.Proxy(str(proxy.url), auth=proxy.raw_auth, headers=proxy.headers.raw)


class _Network(httpcore2.AnyIOBackend):
    """Makes connections that are read in small pieces."""

    async def connect_tcp(self, *args: Any, **options: Any) -> httpcore2.AsyncNetworkStream:
        post = _POST.get()
        post.note_connection()
        post.reused = False
        return _Stream(await super().connect_tcp(*args, **options))


class _Stream(httpcore2.AsyncNetworkStream):
    """A connection that is read in small pieces, yielding to the event loop between them.

    A parser processes everything of one read before the event loop continues, and no call can be
    given up meanwhile. Ten thousand chunks of one byte fit into one read of the usual size.
    """

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self._head = b""
        self.aclose = stream.aclose  # type: ignore[method-assign]
        self.get_extra_info = stream.get_extra_info  # type: ignore[method-assign]

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = await self._stream.read(min(max_bytes, READ_BYTES), timeout)
        if len(data) == READ_BYTES:
            await asyncio.sleep(0)  # data that TLS has already decrypted arrives without a wait
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write a head together with what follows it, in one packet."""
        _POST.get().note_connection()
        self._head += buffer
        if not buffer.endswith(b"\r\n\r\n"):  # without a body, nothing follows: an empty write
            written = self._head
            self._head = b""
            await self._stream.write(written, timeout)

    async def start_tls(self, *args: Any, **options: Any) -> httpcore2.AsyncNetworkStream:
        return _Stream(await self._stream.start_tls(*args, **options))


def explain_timeout(times: list[float]) -> HttpReply:
    """Tell whether the service caused a timeout, or the wait for a connection."""
    now = monotonic()
    had = now - times[-1] if len(times) > 1 else 0.0
    return TOO_LATE if times and had > 0.5 * (now - times[0]) else NO_CONNECTION


def _explain_failure(error: Exception, is_answered: bool, is_reused: bool) -> HttpReply:
    """Tell why a request failed, and whether a second try may fare better."""
    if isinstance(error, httpcore2.ConnectTimeout):
        return HttpReply(detail="cannot connect in time", again=True)
    if isinstance(error, httpcore2.ConnectError):
        is_tls = _is_tls(error)
        detail = "TLS handshake failed" if is_tls else "cannot connect"
        return HttpReply(detail=detail, again=not is_tls)
    if not isinstance(error, httpcore2.NetworkError | httpcore2.RemoteProtocolError):
        return HttpReply(detail=f"request failed ({type(error).__name__})")
    if is_answered:
        return HttpReply(detail="the answer broke off")
    # The server just closed this idle connection, so it has not read the request.
    return HttpReply(detail=f"connection lost ({type(error).__name__})", again=is_reused)


async def _read(response: httpcore2.Response) -> HttpReply:
    """Read an answer up to a limit; of one that is no success the status is enough.

    Raises:
        AnswerError: it is too long, or not encoded as was asked for, or as it says.
    """
    headers = {n.decode("latin-1").lower(): v.decode("latin-1") for n, v in response.headers}
    body = bytearray()
    try:
        await _read_body(response, headers.get("content-encoding", "").strip().lower(), body)
    except AnswerError:
        if HttpReply(response.status).is_success:
            raise
        body.clear()
    return HttpReply(response.status, headers, bytes(body))


async def _read_body(response: httpcore2.Response, encoding: str, body: bytearray) -> None:
    """Append the content of an answer, decoded, to a body of at most a megabyte."""
    if encoding not in ENCODINGS:
        raise AnswerError("unsupported content encoding")
    packed = None
    try:
        async for piece in response.aiter_stream():
            if packed is None and encoding == "gzip":  # an empty answer has not even a head
                packed = zlib.decompressobj(GZIP)
            body += piece if packed is None else packed.decompress(piece, MAX_BYTES + 1)
            if len(body) > MAX_BYTES:
                raise AnswerError(f"answer longer than {MAX_BYTES} bytes")
    except zlib.error:
        raise AnswerError("broken gzip") from None
    if packed is not None and not packed.eof:
        raise AnswerError("broken gzip")


def _is_tls(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return True
        error = error.__cause__ or error.__context__
    return False
