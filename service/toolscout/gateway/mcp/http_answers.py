"""Bound what the answers of HTTP servers decode to: 400 KB of gzip may be 400 MB of JSON.

A hook of the client replaces the body of each answer, so that proxies and certificates stay as the
environment says. Of a stream of events each is bounded, for one is a message.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any, TypeVar

import httpx2
import mcp_types
import msgspec

from toolscout.gateway.mcp.failures import (
    MAX_MESSAGE_BYTES,
    UNREADABLE,
    describe_length,
    make_printable,
)
from toolscout.index.values import count_values_outside_texts

MAX_MESSAGE_VALUES = 250_000
"""Longer messages are not decoded: that would hold up the other servers for too long."""

LONG_BYTES = 1024 * 1024
"""A longer message is looked at in a thread."""

EVENTS = "text/event-stream"

_BLANK_LINE = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2,}")
"""What ends an event."""

_BLANK_BYTES = 4
"""Bytes before others that may begin one."""

PIECE_BYTES = 1 << 18
"""Bytes of an event that are passed on at once."""

ENCODED = ("content-encoding", "content-length")
"""Headers of a body as it is sent, which are wrong of what it decodes to."""


T = TypeVar("T")

MAX_TYPE_CHARS = 80
"""Characters of an answer's content type that are told."""


class UnreadableAnswer(httpx2.StreamError):
    """An answer is too long, and there is no request of the protocol to answer instead."""


def describe_answer(response: httpx2.Response) -> str:
    """Return the error for an answer that breaks the protocol."""
    if response.is_error:
        return f"it answers with status {response.status_code}"
    kind = response.headers.get("content-type", "no type").partition(";")[0]
    return f"it answers with {make_printable(kind)[:MAX_TYPE_CHARS]}, not MCP"


async def bound_answer(response: httpx2.Response) -> None:
    """Replace the body of an answer by one that is decoded and bounded; a hook of a client."""
    encoded = httpx2.Response(
        response.status_code, headers=response.headers, stream=response.stream
    )
    for name in ENCODED:
        response.headers.pop(name, None)
    if _has_events(response):
        response.headers["content-type"] = EVENTS  # always UTF-8, whatever the server says
    response.stream = _BoundedBody(encoded, response.request)


async def run_apart(function: Callable[..., T], text: bytearray, *more: Any) -> T:
    """Call a function of a text; of a long one in a thread, so that it holds nobody up."""
    if len(text) <= LONG_BYTES:
        return function(text, *more)
    return await asyncio.to_thread(function, text, *more)


def _has_events(response: httpx2.Response) -> bool:
    return response.headers.get("content-type", "").lower().startswith(EVENTS)


def _count_values(event: bytearray) -> int:
    """Count the values of an event's data, or its lines if these are more."""
    lines = event.count(b"\n") + event.count(b"\r")
    if lines > MAX_MESSAGE_VALUES:
        return lines
    data = [line for line in event.splitlines() if line.startswith(b"data:")]
    return count_values_outside_texts(b"\n".join(data))


class _BoundedBody(httpx2.AsyncByteStream):
    def __init__(self, encoded: httpx2.Response, request: httpx2.Request) -> None:
        self._encoded = encoded
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async with aclosing(self._encoded.aiter_bytes()) as pieces:
            if _has_events(self._encoded):
                async with aclosing(self._bound_events(pieces)) as events:
                    async for piece in events:
                        yield piece
                return
            body = bytearray()
            async for piece in pieces:
                body += piece
                if len(body) > MAX_MESSAGE_BYTES:
                    break
                await asyncio.sleep(0)  # a short piece may decode to very many
        if len(body) > MAX_MESSAGE_BYTES:
            del body
            yield self._refusal(describe_length(self._length()))
        elif await run_apart(count_values_outside_texts, body) > MAX_MESSAGE_VALUES:
            del body
            yield self._refusal(UNREADABLE)
        else:
            whole = bytes(body)
            del body
            yield whole

    async def _bound_events(self, pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
        """Yield the events of a stream; in place of one that is not read, an error."""
        events = bytearray()
        dropped = seen = 0
        async for piece in pieces:
            events += piece
            while blank := _BLANK_LINE.search(events, seen):
                event = events[: blank.end()]
                del events[: blank.end()]
                if why := await self._find_excess(event, dropped):
                    yield b"data: " + self._refusal(why) + b"\n\n"
                else:
                    while event:
                        yield bytes(event[:PIECE_BYTES])
                        del event[:PIECE_BYTES]
                        await asyncio.sleep(0)  # a short piece may decode to very many events
                dropped = seen = 0
            seen = max(0, len(events) - _BLANK_BYTES)
            if dropped + len(events) > MAX_MESSAGE_BYTES:
                dropped += seen
                del events[:seen]
                seen = 0
            await asyncio.sleep(0)

    @staticmethod
    async def _find_excess(event: bytearray, dropped: int) -> str | None:
        """Return why an event is not read; its first `dropped` bytes are gone already."""
        size = dropped + len(event)
        if size > MAX_MESSAGE_BYTES:
            return describe_length(size)
        is_dense = await run_apart(_count_values, event) > MAX_MESSAGE_VALUES
        return UNREADABLE if is_dense else None

    def _length(self) -> int | None:
        """Return how many bytes the whole answer has, if its server says it of them as they are."""
        headers = self._encoded.headers
        length = headers.get("content-length", "")
        return int(length) if length.isdecimal() and "content-encoding" not in headers else None

    def _refusal(self, why: str) -> bytes:
        """Return an error in place of the answer, so that its call ends as over stdio.

        Raises:
            UnreadableAnswer: the request is none of the protocol, such as one for a token.
        """
        try:
            number = msgspec.json.decode(self._request.content)["id"]
        except (ValueError, TypeError, KeyError, httpx2.RequestNotRead):
            raise UnreadableAnswer(why) from None
        error = mcp_types.ErrorData(code=mcp_types.PARSE_ERROR, message=why)
        answer = mcp_types.JSONRPCError(jsonrpc="2.0", id=number, error=error)
        return answer.model_dump_json(exclude_none=True).encode()

    async def aclose(self) -> None:
        await self._encoded.aclose()
