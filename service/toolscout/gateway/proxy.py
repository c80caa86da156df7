"""A reverse proxy before a provider of models, over the client's transport.

    toolscout proxy --upstream https://api.openai.com/v1 --selector http://127.0.0.1:8080

Any program in any language that can be told the address of its provider (`OPENAI_BASE_URL`) gets
the flow of `AsyncTransport`. Requests and keys are passed on as they come, and are never logged.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from toolscout.client.exchange import provider_of
from toolscout.client.selector.endpoint import is_web_address, without_secrets
from toolscout.client.transport import AsyncTransport
from toolscout.errors import ConfigurationError

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

HOP_BY_HOP = frozenset(
    (
        *("connection", "expect", "host", "keep-alive", "proxy-authenticate"),
        *("proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding"),
        "upgrade",
    )
)
"""Headers about one connection, which are not passed on."""

HEALTH = "/healthz"

MAX_BODY_BYTES = 128 * 1024 * 1024
"""Maximum size of a request that is read whole because it may hold tools."""

CONNECT_S = 10.0
"""Seconds to connect to the provider. How long an answer takes is for the caller to bound."""

logger = logging.getLogger("toolscout.proxy")


class TooLargeError(Exception):
    """A request to a model has more than `MAX_BODY_BYTES`."""


class Body:
    """The body of a request as it comes in."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.limit: int | None = None
        self.is_read = asyncio.Event()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the pieces.

        Raises:
            TooLargeError: they have more bytes than `limit`.
            asyncio.CancelledError: the caller has gone.
        """
        size = 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise asyncio.CancelledError
            piece = message.get("body", b"")
            size += len(piece)
            if self.limit is not None and size > self.limit:
                raise TooLargeError
            if piece:
                yield piece
            if not message.get("more_body"):
                self.is_read.set()
                return

    async def until_gone(self) -> None:
        """Wait until the caller has gone."""
        await self.is_read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


class Proxy:
    """An ASGI application.

    Args:
        upstream: address of the provider, with its path.
        transport: forwards requests, and searches where models ask for it.

    Raises:
        ConfigurationError: the address is no http(s) URL.
    """

    def __init__(self, upstream: str, transport: AsyncTransport) -> None:
        if not is_web_address(upstream):
            shown = without_secrets(upstream)
            raise ConfigurationError(f"upstream: expected an http(s) URL, got {shown!r}")
        self._upstream = httpx2.URL(upstream.rstrip("/"))
        if self._upstream.query or self._upstream.fragment:
            raise ConfigurationError("upstream: expected a URL without a query")
        self._base = self._upstream.raw_path.rstrip(b"/")
        self._client = httpx2.AsyncClient(
            transport=transport, timeout=httpx2.Timeout(None, connect=CONNECT_S)
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection of ASGI."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})
        elif scope["path"] == HEALTH:
            await _answer(send, 200, {"status": "ok"})
        else:
            await self._handle(scope, Body(receive), send)

    async def _handle(self, scope: Scope, body: Body, send: Send) -> None:
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

    async def _forward(self, scope: Scope, body: Body, send: Send) -> None:
        started = False
        try:
            async with self._stream(scope, body) as response:
                started = True
                await send(
                    {
                        "type": "http.response.start",
                        "status": response.status_code,
                        "headers": _passed_on(response.headers.raw),
                    }
                )
                if response.is_stream_consumed:  # the flow has read it
                    await send({"type": "http.response.body", "body": response.content})
                    return
                async for piece in response.aiter_raw():
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
        except (httpx2.HTTPError, TooLargeError) as error:
            status, problem = _explained(error)
            if started:
                problem = f"the provider broke its answer off ({type(error).__name__})"
            logger.warning("%s %s: %s", scope["method"], scope["path"], problem)
            if started:
                return  # without an end, so that the connection breaks off as the provider's did
            kind = {"message": problem, "type": "proxy_error", "code": type(error).__name__}
            await _answer(send, status, {"type": "error", "error": kind})

    @asynccontextmanager
    async def _stream(self, scope: Scope, body: Body) -> AsyncIterator[httpx2.Response]:
        """Send a request on; the response is open while the block lasts."""
        headers = _passed_on(scope["headers"])
        names = {name for name, _ in scope["headers"]}
        has_body = not names.isdisjoint((b"content-length", b"transfer-encoding"))
        request = self._client.build_request(
            scope["method"],
            self._upstream.copy_with(raw_path=self._path(scope)),
            headers=headers,
            content=body.pieces() if has_body else None,
        )
        # What the library would add is not the caller's.
        request.headers = httpx2.Headers([*headers, (b"host", self._upstream.netloc)])
        if b"transfer-encoding" in names:
            request.headers["transfer-encoding"] = "chunked"
        if provider_of(request) is not None:
            body.limit = MAX_BODY_BYTES
        if not has_body:
            body.is_read.set()
        response = await self._client.send(request, stream=True)
        try:
            yield response
        finally:
            await response.aclose()

    def _path(self, scope: Scope) -> bytes:
        """Return path and query at the provider, whether or not they repeat the provider's path."""
        path: bytes = scope.get("raw_path") or scope["path"].encode()
        path = path.partition(b"?")[0]
        if self._base and not (path == self._base or path.startswith(self._base + b"/")):
            path = self._base + path
        query: bytes = scope["query_string"]
        return path + b"?" + query if query else path

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._client.aclose()
        await send({"type": "lifespan.shutdown.complete"})


def _passed_on(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    listed = b",".join(value for name, value in headers if name.lower() == b"connection")
    dropped = HOP_BY_HOP | {name.strip() for name in listed.decode("latin-1").lower().split(",")}
    return [(n, value) for n, value in headers if n.decode("latin-1").lower() not in dropped]


def _explained(error: Exception) -> tuple[int, str]:
    """Return a status, and what went wrong without a word of the request."""
    if isinstance(error, TooLargeError):
        return 413, f"a request to a model may have {MAX_BODY_BYTES} bytes here"
    if isinstance(error, httpx2.TimeoutException):
        return 504, "the provider did not answer in time"
    return 502, f"the provider cannot be reached ({type(error).__name__})"


async def _answer(send: Send, status: int, body: dict[str, Any]) -> None:
    content = json.dumps(body).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(content))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
