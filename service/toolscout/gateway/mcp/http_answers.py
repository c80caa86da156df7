"""Bound what the answers of HTTP servers decode to: 400 KB of gzip may be 400 MB of JSON.

A hook of the client replaces the body of each answer, so that proxies and certificates stay as the
environment says. The SDK bounds each event of a stream itself.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import httpx2
import mcp_types
import msgspec

from toolscout.gateway.mcp.failures import UNREADABLE, make_printable
from toolscout.index.values import count_values_outside_texts

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""Bytes of a message of a server, decoded."""

MAX_MESSAGE_VALUES = 250_000
"""Longer messages are not decoded: that would hold up the other servers for too long."""

ENCODED = ("content-encoding", "content-length")
"""Headers of a body as it is sent, which are wrong of what it decodes to."""


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
    response.stream = _BoundedBody(encoded, response.request)


class _BoundedBody(httpx2.AsyncByteStream):
    def __init__(self, encoded: httpx2.Response, request: httpx2.Request) -> None:
        self._encoded = encoded
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        kind = self._encoded.headers.get("content-type", "").lower()
        async with aclosing(self._encoded.aiter_bytes()) as pieces:
            if kind.startswith("text/event-stream"):
                async for piece in pieces:
                    yield piece
                    await asyncio.sleep(0)  # a short piece may decode to very many
                return
            body = bytearray()
            async for piece in pieces:
                body += piece
                if len(body) > MAX_MESSAGE_BYTES:
                    break
                await asyncio.sleep(0)
        is_long = len(body) > MAX_MESSAGE_BYTES
        if is_long or count_values_outside_texts(bytes(body)) > MAX_MESSAGE_VALUES:
            del body
            yield self._refusal()
        else:
            yield bytes(body)

    def _refusal(self) -> bytes:
        """Return an error in place of the answer, so that its call ends as over stdio.

        Raises:
            UnreadableAnswer: the request is none of the protocol, such as one for a token.
        """
        try:
            number = msgspec.json.decode(self._request.content)["id"]
        except (ValueError, TypeError, KeyError, httpx2.RequestNotRead):
            raise UnreadableAnswer(UNREADABLE) from None
        error = mcp_types.ErrorData(code=mcp_types.PARSE_ERROR, message=UNREADABLE)
        answer = mcp_types.JSONRPCError(jsonrpc="2.0", id=number, error=error)
        return answer.model_dump_json(exclude_none=True).encode()

    async def aclose(self) -> None:
        await self._encoded.aclose()
