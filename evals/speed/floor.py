"""The floor: the least that any selector of inline tools must do, on the same server.

A bare ASGI application that reads the body, decodes the envelope and takes the SHA-256 of the
raw tools. Whatever Toolscout adds to this is what selecting costs.
"""

from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any

import msgspec


class Envelope(msgspec.Struct):
    """Just enough to find the tools."""

    pattern: str
    tools: msgspec.Raw


_decode = msgspec.json.Decoder(Envelope).decode
_ANSWER = b'{"selected_names":[]}'


async def read_body(receive: Callable[[], Awaitable[dict[str, Any]]]) -> bytes:
    """Return the whole body of a request."""
    chunks = []
    more = True
    while more:
        message = await receive()
        chunks.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(chunks)


async def app(
    scope: dict[str, Any],
    receive: Callable[[], Awaitable[dict[str, Any]]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    """Answer every request alike."""
    content = await read_body(receive)
    is_probe = scope["path"] == "/readyz"
    digest = "" if is_probe else sha256(_decode(content).tools).hexdigest()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(_ANSWER)).encode()),
        (b"x-catalog-digest", digest.encode()),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": _ANSWER})
