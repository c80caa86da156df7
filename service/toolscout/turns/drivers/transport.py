"""Transports for httpx2: every request of an SDK goes through the discovery flow.

    client = OpenAI(http_client=httpx2.Client(transport=Transport("http://127.0.0.1:8080")))

A request of a known interface that holds tools is read, its tools are deferred and searched, and
the SDK gets a response without a trace of it. Every other request is passed on untouched, and so is
one that cannot be read.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Collection
from functools import partial
from typing import Any

import httpx2

from toolscout.client.log import logger
from toolscout.errors import InvalidArgument, check_names
from toolscout.turns.config import DiscoveryConfig
from toolscout.turns.drivers.exchange import (
    Exchange,
    ProviderError,
    UnreadError,
    UnsentError,
    can_decode,
    decode_content,
    decode_json,
    find_provider,
    is_json,
    is_page,
    make_gateway_error,
    make_response,
)
from toolscout.turns.drivers.loops import answer_to, end_turn
from toolscout.turns.drivers.outgoing import Outgoing
from toolscout.turns.drivers.pieces import (
    Blocking,
    Body,
    Pieces,
    await_result,
    join,
    run,
    yield_in_turns,
)
from toolscout.turns.drivers.tool_discovery import AsyncToolDiscovery, ToolDiscovery
from toolscout.turns.drivers.written import MAX_BODY_BYTES, MAX_SEARCHED_BYTES, WrittenBody
from toolscout.turns.providers import Json
from toolscout.turns.providers.fields import encode
from toolscout.turns.turn import Turn

FEW_TOOLS = 10
"""Requests with at most this many tools are passed on: a model chooses well among so few."""

SPLIT_AT_ONCE_BYTES = 1024 * 1024
"""Maximum size of a request that is split into its fields on the event loop."""

LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=100)


class _Exchanges:
    """What both transports do, as coroutines; those of the blocking one never wait."""

    discovery: AsyncToolDiscovery | ToolDiscovery
    _outgoing: Outgoing[Any]
    _scope_headers: tuple[str, ...]

    async def _respond(self, request: httpx2.Request) -> httpx2.Response:
        """Forward a request; the body of the response can be iterated, as those of connections.

        Raises:
            TypeError: the client around it is one of another library.
        """
        if not isinstance(request, httpx2.Request):
            library = type(request).__module__.partition(".")[0]
            kind = type(self).__name__
            client = "AsyncClient" if self.discovery.waits else "Client"
            raise TypeError(f"{kind} works in httpx2.{client}; this is {library}.{client}")
        exchange = await self._exchange(request)
        if exchange is None:
            return await self._send(request)
        try:
            response = await self._answer(exchange)
        except UnsentError as error:
            raise error.__cause__ or error from None
        return _make_unread(response)

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        """Forward a request; the response is open and not read."""
        transport = self._outgoing.transport_for(request.url)
        waits = self.discovery.waits
        send = transport.handle_async_request if waits else transport.handle_request
        return _make_unread(await await_result(send(request)))

    async def _exchange(self, request: httpx2.Request) -> Exchange | None:
        """Read a request; None if it cannot be. An event loop reads none that is large."""
        provider = find_provider(request)
        if provider is None or "content-encoding" in request.headers:
            return None
        waits = self.discovery.waits
        content = await request.aread() if waits else request.read()
        if len(content) > MAX_BODY_BYTES:
            logger.warning("a request is not searched: it has %d bytes", len(content))
            return None
        splits_aside = waits and len(content) > SPLIT_AT_ONCE_BYTES
        split = partial(WrittenBody, content)
        written = await asyncio.to_thread(split) if splits_aside else split()
        in_thread = waits and written.is_large
        body = await asyncio.to_thread(written.decoded) if in_thread else written.decoded()
        is_searched = written.is_searched
        if not is_searched:
            logger.warning("a request is not searched: too many bytes or values beside long texts")
        if body is None:
            return None
        slices = written.slices
        headers = self._scope_headers
        return Exchange(request, provider, body, slices, is_searched, headers, in_thread)

    def _pieces(self, response: httpx2.Response, *, is_raw: bool = False) -> Pieces:
        """Yield the body of a response as it comes, decoded unless it is to be raw; close it."""
        is_plain = "content-encoding" not in response.headers and not response.is_stream_consumed
        if not self.discovery.waits:
            return Blocking(response.iter_raw() if is_raw or is_plain else response.iter_bytes())
        return (
            response.aiter_raw() if is_raw or is_plain else yield_in_turns(response.aiter_bytes())
        )

    async def _forward(
        self, exchange: Exchange, body: Json, *, streams: bool = False
    ) -> httpx2.Response:
        """Send a changed request; return the response, which is read unless it streams.

        Raises:
            UnsentError: it could not be sent, or not be read.
        """
        request = exchange.forward(body)
        try:
            response = await self._send(request)
            return response if streams and not response.is_error else await self._read(response)
        except httpx2.HTTPError:
            raise
        except Exception as error:
            raise UnsentError(str(error)) from error

    async def _read(self, response: httpx2.Response) -> httpx2.Response:
        """Read and decode a response.

        Raises:
            UnreadError: it cannot be decoded, or is too large to be looked into.
        """
        raw = self._pieces(response, is_raw=True)
        if not can_decode(response):
            raise UnreadError(response, raw)
        held = []
        size = 0
        async for piece in raw:
            held.append(piece)
            size += len(piece)
            if size > MAX_SEARCHED_BYTES:
                break
        content = decode_content(response, b"".join(held)) if size <= MAX_SEARCHED_BYTES else None
        if content is None:
            raise UnreadError(response, join(held, raw))
        return make_response(response, content)

    async def _answer(self, exchange: Exchange) -> httpx2.Response:
        """Return the response for the SDK."""
        begun = await self._prepare(exchange)
        if not isinstance(begun, Turn):
            is_same = begun is exchange.body
            return await self._send(exchange.request if is_same else exchange.forward(begun))
        try:
            work = self._stream if exchange.streams else self._complete
            return await work(exchange, begun)
        except ProviderError as refused:
            return refused.response
        except UnreadError as error:
            if begun.state.rounds == 0:
                return make_response(
                    error.response, Body(error.pieces, error.response), is_raw=True
                )
            await error.pieces.aclose()
            return make_gateway_error(str(error))
        except (httpx2.HTTPError, httpx2.StreamError):
            raise
        except Exception:
            if exchange.last is None and exchange.forwards:
                raise
            logger.exception("a request or its answer could not be changed, and passes as it came")
            return exchange.last or await self._send(exchange.request)

    async def _prepare(self, exchange: Exchange) -> Turn | Json:
        """Return a turn, or the body to forward once."""
        body = exchange.body
        if not exchange.is_searched:
            return self.discovery.limit_tools(body, exchange.provider)
        about = body, exchange.provider, None, exchange.scope, exchange.streams
        address = exchange.address
        in_thread = exchange.in_thread
        return await self.discovery.prepare(*about, in_thread=in_thread, address=address)

    async def _complete(
        self, exchange: Exchange, turn: Turn, first: httpx2.Response | None = None
    ) -> httpx2.Response:
        """Complete a turn, whose first answer may be there already."""
        answer: Json | None = None

        async def forward(body: Json) -> Json:
            nonlocal answer, first
            sent = first
            first = None
            exchange.last = sent or await self._forward(exchange, body)
            answer = decode_json(exchange.last)
            return answer

        final = await self.discovery.complete_turn(turn, forward)
        assert exchange.last is not None
        return exchange.last if final is answer else make_response(exchange.last, encode(final))

    async def _stream(self, exchange: Exchange, turn: Turn) -> httpx2.Response:
        async def opened(body: Json) -> httpx2.Response:
            response = await self._forward(exchange, body, streams=True)
            if response.is_error:
                raise ProviderError(response)
            return response

        async def forward(body: Json) -> AsyncIterator[bytes]:
            async for piece in self._pieces(await opened(body)):
                yield piece

        pieces = None
        try:
            first = await answer_to(turn, opened)
            if is_json(first):  # not every API streams, or says that it does
                first = await self._read(first)
                if not first.content.startswith((b"data:", b"event:", b":")):
                    return await self._complete(exchange, turn, first)
            if not can_decode(first) or is_page(first):
                return first
            pieces = self.discovery.stream_turn(turn, self._pieces(first), forward)
            return make_response(first, Body(pieces, first))
        finally:
            if pieces is None:
                end_turn(turn, self.discovery.observers)


def _make_unread(response: httpx2.Response) -> httpx2.Response:
    """Return a response whose body can be iterated, also if it was read, as `inner` may do."""
    if not response.is_stream_consumed:
        return response
    read = make_response(response, response.content)
    return make_response(read, httpx2.ByteStream(read.content), is_raw=True)


class Transport(_Exchanges, httpx2.BaseTransport):
    """For `httpx2.Client`, and with it for the blocking client of any SDK that is built on it.

    Args:
        config: the URL of the service, or a configuration of the proxy.
        inner: sends the requests; by default connections as an `httpx2.Client` makes them, through
            the proxies of the environment.
        scope_headers: names of headers that tell callers apart, beside those of keys, organisations
            and sessions. Two callers never share what their conversations have found.
        options: those of `ToolDiscovery`; `defer_above` is 10 here, and `remember_tools` is off.
    """

    discovery: ToolDiscovery
    _outgoing: Outgoing[httpx2.BaseTransport]

    def __init__(
        self,
        config: DiscoveryConfig | str,
        *,
        inner: httpx2.BaseTransport | None = None,
        scope_headers: Collection[str] = (),
        **options: Any,
    ) -> None:
        self._scope_headers = _check_header_names(scope_headers)
        self.discovery = ToolDiscovery(config, **_make_options(config, options))
        self._outgoing = Outgoing(inner, partial(httpx2.HTTPTransport, limits=LIMITS))

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Forward a request, with searches where the model asks for them."""
        return run(self._respond(request))

    def close(self) -> None:
        """Close the connections to the provider and to the service."""
        for transport in self._outgoing.end():
            transport.close()
        self.discovery.close()


class AsyncTransport(_Exchanges, httpx2.AsyncBaseTransport):
    """For `httpx2.AsyncClient`; as `Transport`, with `limits` of the connections it makes."""

    discovery: AsyncToolDiscovery
    _outgoing: Outgoing[httpx2.AsyncBaseTransport]

    def __init__(
        self,
        config: DiscoveryConfig | str,
        *,
        inner: httpx2.AsyncBaseTransport | None = None,
        limits: httpx2.Limits = LIMITS,
        scope_headers: Collection[str] = (),
        **options: Any,
    ) -> None:
        self._scope_headers = _check_header_names(scope_headers)
        self.discovery = AsyncToolDiscovery(config, **_make_options(config, options))
        self._outgoing = Outgoing(inner, partial(httpx2.AsyncHTTPTransport, limits=limits))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Forward a request, with searches where the model asks for them."""
        return await self._respond(request)

    async def pass_on(self, request: httpx2.Request) -> httpx2.Response:
        """Forward a request without looking into it."""
        return await self._send(request)

    async def aclose(self) -> None:
        """Close the connections to the provider and to the service."""
        for transport in self._outgoing.end():
            await transport.aclose()
        await self.discovery.aclose()


def _make_options(config: DiscoveryConfig | str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a flow, with the defaults of a transport."""
    if getattr(config, "defer_above", None) is None:
        options.setdefault("defer_above", FEW_TOOLS)
    # An SDK leaves `tools` out on purpose.
    return {"remember_tools": False, **options}


_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def _check_header_names(names: Collection[str]) -> tuple[str, ...]:
    check_names("scope_headers", names)
    for name in names:
        if not _HEADER_NAME.fullmatch(name):
            raise InvalidArgument(f"scope_headers: {name!r} is no name of a header")
    return tuple(name.lower() for name in names)
