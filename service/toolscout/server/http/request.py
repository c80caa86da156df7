"""A request at ASGI level: its headers, and its body read within limits.

A framework's request object costs more than the ranking.
"""

import asyncio
from random import getrandbits
from time import perf_counter
from typing import NamedTuple

from litestar.types import Receive, Scope

from toolscout.server.http.admission import LARGEST_BODY, AdmissionSlot
from toolscout.server.http.auth import KeyScope
from toolscout.server.http.problems import Refused
from toolscout.serving.connections import LATE
from toolscout.settings import Settings

_MAX_REQUEST_ID = 128
_JSON = b"application/json"


class Route(NamedTuple):
    """What metrics, log and guards know of a path."""

    path: str
    """The path, with its variable parts in braces."""
    call: str
    """The name in metrics and log."""
    scope: KeyScope = "search"
    """What a key must allow."""
    is_open: bool = False
    """Whether it needs neither key nor admission, and is not logged."""


class LimitedRequest:
    """A request, read within its limits."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.started = perf_counter()
        self.arrived = 0.0
        """Time at which the body was complete; 0 if none was read."""
        self.receive = receive
        self.path = str(scope["path"])
        self.method = str(scope.get("method", ""))
        self.scope = scope
        self.route: Route | None = None
        """Where it goes, once that is known."""
        self.headers: list[tuple[bytes, bytes]] = list(scope["headers"])
        self.by_name = dict(self.headers)
        """Of a repeated header the last counts."""
        self.request_id = request_id(self.header(b"x-request-id"))
        self.close = False
        """Whether the connection ends after the answer."""
        self.newer_contract = False
        """Whether the answer has the shape of the newer contract."""
        self.bytes_in = 0
        self.slot: AdmissionSlot | None = None
        """The admitted request's slot, which counts the body."""
        self.status = 0
        """The status of its answer, once that has begun."""
        self.refused = ""
        """The code of the error that it ended in."""
        self.is_admitted = False
        """Whether its body may be read."""
        self._drained = False

    @property
    def has_body(self) -> bool:
        """Whether a body was announced."""
        return self.header(b"content-length") not in (b"", b"0") or bool(
            self.header(b"transfer-encoding")
        )

    def header(self, name: bytes) -> bytes:
        """Return a request header by its lower-case name, empty when absent."""
        return self.by_name.get(name, b"")

    async def json_body(self, settings: Settings, limit: int | None = None) -> bytes:
        """Read the whole body, which must be plain JSON by its headers; `limit` may lower its size.

        Raises:
            Refused: another media type, a compressed body, or one that is too large or too late.
            ClientGone: the caller hung up.
        """
        media = self.header(b"content-type").partition(b";")[0].strip().lower()
        if media and media != _JSON and not media.endswith(b"+json"):
            raise Refused("unsupported_media_type", "send Content-Type: application/json")
        if self.header(b"content-encoding").strip().lower() not in (b"", b"identity"):
            raise Refused("unsupported_media_type", "send the body without Content-Encoding")
        most = min(settings.max_body_bytes, LARGEST_BODY)
        body = await self._read_body(most if limit is None else min(limit, most))
        self.arrived = perf_counter()
        return body

    async def drain(self, limit: int, timeout: float) -> None:
        """Read and drop the rest of the body, so that the caller gets the answer.

        Closing a socket with unread bytes resets the connection, and the answer is lost. A caller
        that waits for `100 Continue` sends nothing, and reading would ask for it.
        """
        size = 0
        is_waiting = self.header(b"expect") and not self.bytes_in
        try:
            async with asyncio.timeout(timeout):
                while not (self._drained or is_waiting) and size <= limit:
                    size += len(self._read_chunk(await self.receive()))
        except (TimeoutError, ClientGone, Refused):
            self.close = True
        self.close = self.close or not self._drained

    async def _read_body(self, limit: int) -> bytes:
        declared = self.header(b"content-length")
        if declared.isdigit() and int(declared) > limit:
            raise self._refuse_large(limit)
        chunks: list[bytes] = []
        size = 0
        while not self._drained:
            chunks.append(self._read_chunk(await self.receive()))
            size += len(chunks[-1])
            if size > limit:
                raise self._refuse_large(limit)
            if self.slot is not None:
                self.slot.hold(len(chunks[-1]))
        return b"".join(chunks)

    def _read_chunk(self, message: object) -> bytes:
        assert isinstance(message, dict)
        if message["type"] == "http.disconnect":
            raise ClientGone
        if not message.get("more_body", False):
            self._drained = True
        elif self.scope.get("state", {}).get(LATE):
            self._drained = self.close = True
            raise Refused("body_timeout", "the body did not arrive in time")
        chunk: bytes = message.get("body", b"")
        self.bytes_in += len(chunk)
        return chunk

    def _refuse_large(self, limit: int) -> Refused:
        why = "a process takes no more at once" if limit == LARGEST_BODY else "max_body_bytes"
        return Refused("payload_too_large", f"the body may have at most {limit} bytes ({why})")


def request_id(sent: bytes) -> str:
    """Return the caller's request id if it is printable, else a new one."""
    text = sent[:_MAX_REQUEST_ID].decode("latin-1")
    return text if text and text.isprintable() else f"{getrandbits(64):016x}"


class ClientGone(Exception):  # noqa: N818 - nobody is left to err to
    """The caller closed the connection before its answer."""
