"""A reverse proxy before a provider of models, over the client's transport.

    toolscout proxy --upstream https://api.openai.com/v1 --selector http://127.0.0.1:8080

Any program in any language that can be told the address of its provider (`OPENAI_BASE_URL`) gets
the flow of `AsyncTransport`. Requests and keys are passed on as they come, and are never logged. A
request that is too large to be searched in bounded memory is passed on as it comes in.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from time import monotonic
from typing import cast
from urllib.parse import unquote_to_bytes

import httpx2
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest

from toolscout.client.endpoint import find_ready_address, hide_secrets, is_web_address
from toolscout.errors import ConfigurationError
from toolscout.gateway.bodies import ForwardedBody, Gunzip
from toolscout.gateway.callers import CallerCheck, CallerRefused
from toolscout.serving.limited import Receive, Scope, Send, write_error
from toolscout.turns.drivers.exchange import find_provider, is_signed
from toolscout.turns.drivers.flow import ASKING
from toolscout.turns.drivers.transport import AsyncTransport
from toolscout.turns.drivers.written import MAX_BODY_BYTES

_HOP_BY_HOP = frozenset(
    b"connection expect host keep-alive proxy-authenticate proxy-authorization proxy-connection te "
    b"trailer transfer-encoding upgrade".split()
)
"""Headers about one connection, which are not passed on."""

KEY_HEADER = b"x-toolscout-key"
"""The proxy's own key: `Authorization` is the provider's."""

NEVER_DROPPED = frozenset((b"content-length", b"content-type", b"host"))
"""Headers that `Connection` cannot name."""

ABOUT_BYTES = (b"content-encoding", b"content-length")
"""Headers about the bytes of a request, which are written anew where it is searched."""

PLAIN_ENCODINGS = ("", "identity")

GZIP_ENCODINGS = ("gzip", "x-gzip")

REFUSED_METHODS = ("CONNECT", "TRACE")

WEBSOCKET_KEY = b"sec-websocket-key"
"""The header of every handshake of a websocket; `Upgrade` never gets here."""

NO_WEBSOCKETS = "websockets are not passed on; send requests, and read streams of events"

STATUSES = range(200, 600)
"""Statuses that an answer can have."""

BODILESS = (204, 304)
"""Statuses of answers without a body."""

HEALTH = "/healthz"
METRICS = "/metrics"

AT_ONCE_S = 0.001
"""Seconds of sending a buffered answer after which the event loop gets a turn."""

MAX_PATH_LOGGED = 200

START_TIMEOUT_S = 1.0
"""How long the service may take to say that it is ready, before the proxy starts without it."""

logger = logging.getLogger("toolscout.proxy")


class Proxy:
    """An ASGI application.

    Raises:
        ConfigurationError: the address is no http(s) URL, or holds a password.
    """

    def __init__(  # noqa: PLR0913  # the parts that it joins
        self,
        *,
        upstream: str,
        transport: AsyncTransport,
        callers: CallerCheck,
        timeout: httpx2.Timeout,
        body_timeout_s: float,
        max_held_bytes: int,
        metrics_port: int,
        registry: CollectorRegistry,
        count_refusal: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.upstream = upstream
        """Address of the provider, with its path."""
        self.transport = transport
        """Forwards requests, and searches where models ask for it."""
        self.callers = callers
        """Knows the names and the key of this proxy."""
        self.timeout = timeout
        """How long to wait for the provider."""
        self.body_timeout_s = body_timeout_s
        """Seconds to wait for a request, and for more of one."""
        self.max_held_bytes = max_held_bytes
        """Bytes of requests that are held to be searched, while they are answered; what is beyond
        is passed on unsearched."""
        self.metrics_port = metrics_port
        """Connections to this port of the server get figures and health alone; 0 for none."""
        self.registry = registry
        """Holds the figures."""
        self.count_refusal = count_refusal
        """Gets the code of each request that is refused by its head, to be logged with others."""
        if not is_web_address(self.upstream):
            shown = hide_secrets(self.upstream)
            raise ConfigurationError(f"upstream: expected an http(s) URL, got {shown!r}")
        self._upstream = httpx2.URL(self.upstream.rstrip("/"))
        if self._upstream.userinfo:
            why = "a user or password, which would replace the keys of all callers"
            raise ConfigurationError(f"upstream: holds {why}")
        if self._upstream.query or self._upstream.fragment:
            raise ConfigurationError("upstream: expected a URL without a query")
        self._base = self._upstream.raw_path.rstrip(b"/")
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection of ASGI."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["path"] == HEALTH:
            await _answer(send, 200, b'{"status":"ok"}')
        elif not self.metrics_port or scope["server"][1] != self.metrics_port:
            await self._handle(scope, ForwardedBody(receive, self.body_timeout_s), send)
        elif scope["path"] == METRICS:
            await _answer(send, 200, generate_latest(self.registry), kind=CONTENT_TYPE_PLAIN_0_0_4)
        else:
            await _answer(send, 404, write_error(f"there are {METRICS} and {HEALTH}", "not_found"))

    async def _handle(self, scope: Scope, body: ForwardedBody, send: Send) -> None:
        """Forward a request until it is answered or its caller has gone."""
        work = asyncio.ensure_future(self._forward(scope, body, send))
        gone = asyncio.ensure_future(body.until_gone())
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (work, gone):
                task.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)
        if not work.cancelled() and (error := work.exception()) is not None:
            raise error

    async def _forward(self, scope: Scope, body: ForwardedBody, send: Send) -> None:
        try:
            self._check(scope)
        except CallerRefused as error:
            self.count_refusal(error.code)
            await _answer(send, error.status, write_error(error.detail, error.code), True)
            return
        started = False
        try:
            async with self._stream(scope, body) as response:
                if (status := response.status_code) not in STATUSES:
                    detail = f"the provider answered with status {status}"
                    raise CallerRefused(502, "bad_status", detail)
                headers = _choose_headers(response.headers.raw)
                if status in BODILESS:  # where it counts bytes that do not follow
                    headers = [one for one in headers if one[0].lower() != b"content-length"]
                head = {"status": status, "headers": headers}
                started = True
                await send({"type": "http.response.start", **head})
                paused = monotonic()
                async for piece in cast("httpx2.AsyncByteStream", response.stream):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                    if monotonic() >= paused + AT_ONCE_S:
                        await asyncio.sleep(0)
                        paused = monotonic()
                await send({"type": "http.response.body", "body": b""})
        except (httpx2.HTTPError, CallerRefused) as error:
            refused = _explain(error)
            broken = f"the provider broke its answer off ({type(error).__name__})"
            problem = broken if started else refused.detail
            logger.warning("%s %s: %s", scope["method"], _escape_path(scope), problem)
            if not started:  # else it has no end, and the connection breaks off as the provider's
                close = not body.is_read.is_set()
                await _answer(
                    send, refused.status, write_error(refused.detail, refused.code), close
                )

    def _check(self, scope: Scope) -> None:
        """Check the head of a request.

        Raises:
            Refused: it comes from a foreign page, without the key, or asks for what no proxy does.
        """
        if scope["method"] in REFUSED_METHODS:
            raise CallerRefused(405, "method_not_allowed", f"{scope['method']} is not passed on")
        headers = scope["headers"]
        if WEBSOCKET_KEY in dict(headers):  # the provider would take it for a plain GET
            raise CallerRefused(501, "not_implemented", NO_WEBSOCKETS)
        self.callers.check(headers, dict(headers).get(KEY_HEADER, b""))
        if NEVER_DROPPED & _list_named_by_connection(headers):
            raise CallerRefused(
                400, "bad_request", "Connection names a header that cannot be dropped"
            )

    @asynccontextmanager
    async def _stream(self, scope: Scope, body: ForwardedBody) -> AsyncIterator[httpx2.Response]:
        """Send a request on; the response is open while the block lasts."""
        timeouts = {"timeout": self.timeout.as_dict()}
        made = partial(httpx2.Request, scope["method"], self._url(scope), extensions=timeouts)
        headers = [one for one in _choose_headers(scope["headers"]) if one[0] != KEY_HEADER]
        names = {name for name, _ in scope["headers"]}
        if names.isdisjoint((b"content-length", b"transfer-encoding")):
            body.is_read.set()
            request = made(headers=headers)
        else:
            framed = [*headers, (b"host", self._upstream.netloc)]
            if b"transfer-encoding" in names:
                framed.append((b"transfer-encoding", b"chunked"))
            request = made(headers=framed, stream=body)
        send = self.transport.pass_on
        try:
            if find_provider(request) is not None and not body.is_read.is_set():
                content = await self._hold(body, request.headers.get("content-encoding", ""))
                if isinstance(content, str):
                    logger.warning("%s: passed on unsearched: %s", _escape_path(scope), content)
                else:
                    send = self.transport.handle_async_request
                    readable = [one for one in headers if one[0] not in ABOUT_BYTES]
                    request = made(headers=readable, content=content)
            elif is_signed(request):
                logger.warning("%s: passed on unsearched: signed by AWS", _escape_path(scope))
            response = await send(request)
            try:
                yield response
            finally:
                await response.aclose()
        finally:
            self._held -= body.held

    async def _hold(self, body: ForwardedBody, encoding: str) -> bytes | str:
        """Return a whole body, unpacked; or why it is not held, so that it goes on as it came."""

        def lacking(size: int) -> str | None:
            self._held += size
            if body.held > MAX_BODY_BYTES:
                return "too large"
            return "too many bytes are held" if self._held > self.max_held_bytes else None

        encoding = encoding.strip().lower()
        if encoding in PLAIN_ENCODINGS:
            return await body.hold(lacking)
        if encoding in GZIP_ENCODINGS:
            return await body.hold(lacking, Gunzip())
        return f"encoded as {encoding!r}, not as gzip"

    def _url(self, scope: Scope) -> httpx2.URL:
        """Return the address at the provider, whether or not the path repeats the provider's.

        Raises:
            Refused: the path leads out of the provider's, or is no ASCII.
        """
        path: bytes = scope.get("raw_path") or scope["path"].encode()
        path = path.partition(b"?")[0]
        segments = unquote_to_bytes(path).replace(b"\\", b"/").split(b"/")
        if any(segment.partition(b";")[0] == b".." for segment in segments):
            raise CallerRefused(400, "bad_request", "the path has a .. in it")
        if self._base and not (path == self._base or path.startswith(self._base + b"/")):
            path = self._base + path
        query: bytes = scope["query_string"]
        with suppress(UnicodeDecodeError, httpx2.InvalidURL):
            url = self._upstream.copy_with(raw_path=path + b"?" + query if query else path)
            ends = (self._base + b"/", self._base + b"?")
            if not self._base or (url.raw_path + b"/").startswith(ends):
                return url
        raise CallerRefused(400, "bad_request", "the path cannot be passed on")

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await self._log_start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.transport.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def _log_start(self) -> None:
        """Log what goes where, and whether the service answers; without it, all is passed on."""
        config = self.transport.discovery.config
        selector = hide_secrets(config.api.endpoint)
        about = f"before {self._upstream}, strategy {config.strategy}"
        if config.strategy not in ASKING:
            logger.info("started %s; no service is asked", about)
            return
        try:
            async with asyncio.timeout(START_TIMEOUT_S), httpx2.AsyncClient() as client:
                status = (await client.get(find_ready_address(selector))).status_code
            if status == 200:
                logger.info("started %s; the service at %s is ready", about, selector)
                return
            problem = f"answers /readyz with status {status}"
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError) as error:
            problem = f"does not answer ({type(error).__name__})"
        problem += ": until it does, requests go out with every tool"
        logger.warning("started %s; the service at %s %s", about, selector, problem)


def _list_named_by_connection(headers: list[tuple[bytes, bytes]]) -> set[bytes]:
    """Return the headers that `Connection` declares to be about this connection alone."""
    listed = b",".join(value for name, value in headers if name.lower() == b"connection")
    return {name.strip() for name in listed.lower().split(b",")}


def _choose_headers(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    dropped = _HOP_BY_HOP | _list_named_by_connection(headers)
    return [(name, value) for name, value in headers if name.lower() not in dropped]


def _explain(error: Exception) -> CallerRefused:
    """Return what went wrong, without a word of the request."""
    if isinstance(error, CallerRefused):
        return error
    code = type(error).__name__
    if isinstance(error, httpx2.PoolTimeout):
        return CallerRefused(503, code, "all connections to the provider are in use")
    if isinstance(error, httpx2.TimeoutException):
        return CallerRefused(504, code, "the provider did not answer in time")
    if isinstance(error, httpx2.ConnectError):
        return CallerRefused(502, code, f"the provider cannot be reached ({code})")
    return CallerRefused(502, code, f"the provider broke off or gave no answer of HTTP ({code})")


def _escape_path(scope: Scope) -> str:
    """Return the path with everything escaped that could forge or colour a line."""
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    return ascii(path.partition(b"?")[0][:MAX_PATH_LOGGED].decode("latin-1"))[1:-1]


async def _answer(
    send: Send, status: int, body: bytes, close: bool = False, kind: str = "application/json"
) -> None:
    headers = [(b"content-type", kind.encode()), (b"content-length", b"%d" % len(body))]
    if close:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
