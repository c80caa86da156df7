"""HTTP/1.1 with limits on everything that is read before authentication.

uvicorn's parser takes heads and trailers of any size. This module counts the bytes before the
parser: too large request lines, headers and trailers get 431, malformed HTTP gets 400, an
incomplete head gets 408, and the connection is closed. An answer that is not read in time is
dropped with its connection.
"""

import asyncio
from typing import Any, cast

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from toolscout.serving.connections import LATE, ServedConnections
from toolscout.serving.transport import ClosingTransport, ReadingFlow

MAX_HEAD_BYTES = 65_536
"""Bytes of a request line with headers and trailers: room for a pattern of 4,096 characters of any
script in a query string."""

HEAD_SHARE = 1 / 3
"""The head's share of `caller_timeout_s`."""

MAX_HEADERS = 128
"""Headers and trailers of one request."""

MAX_HEADER_BYTES = 16_384
"""Bytes of one header or trailer, name and value."""

_TOO_LARGE = (
    f"request line, headers and trailers may have at most {MAX_HEAD_BYTES} bytes, "
    f"one header {MAX_HEADER_BYTES}, and there may be {MAX_HEADERS} of them"
)

SLICE = 4_096
"""Bytes per call of the parser where a head may begin: the most by which a head can exceed its
limit, and the size of requests queued behind one that is being answered.
"""

TLS_HANDSHAKE = b"\x16\x03"
"""How a client begins that asks for https where http is served."""

FEW_CHUNKS = 1_000
MIN_CHUNK = 64
"""Minimum average bytes of a chunk after the first ones, because parsing chunks takes time."""

HELD_BYTES = 1 << 18
"""Bytes of a body that the service's application is woken for, unless it is complete before: 300
tools are three reads. No more requests hold them than are admitted by their heads."""

MAX_UNREAD = 1 << 16
"""Maximum bytes read of a body after its answer; then reading stops."""


class HeadRefused(Exception):  # noqa: N818 - an answer, not a failure
    """A head that is not accepted; raised through the parser."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP/1.1 with limits on heads and on waiting."""

    transport: ClosingTransport  # type: ignore[assignment]

    def __init__(self, *args: Any, limits: ServedConnections, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.limits = limits
        self.url = b""
        self._unfed = b""
        """Bytes that wait until the request before them is answered."""
        self._in_head = True
        self._has_begun = False
        self._in_message = False
        self._is_refused = False
        self._head_bytes = 0
        self._header_count = 0
        self._chunks = 0
        self._body_bytes = 0
        self._pieces: list[bytes] = []
        """What has come of a body since the application was last woken."""
        self._held_bytes = 0
        self._pending = 0
        """Bytes since the parser last reported something: a part of one header."""
        self._has_progressed = False
        self._discarded = 0
        self._since = self.loop.time()
        """When it was opened, or the last request was answered."""
        self._is_half_closed = False

    @property
    def idle_since(self) -> float | None:
        """When it was opened, or last answered; None while it has a request, or is closing."""
        is_idle = self._is_open() and not (
            self._is_waiting() or self._in_message or self._is_in_head()
        )
        return self._since if is_idle else None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to serve a connection."""
        super().connection_made(cast(asyncio.Transport, ClosingTransport(transport, self)))
        self.flow = ReadingFlow(self.transport, self)
        self.limits.watch(self, "silent", self.limits.settings.keep_alive_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self.limits.leave(self)
        self._unfed = b""
        self._pieces = []
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse received data, or drop it if the connection is closing."""
        if self.transport.is_ended or self._is_refused:
            self._discarded += len(data)
            if self._discarded > self.limits.settings.max_body_bytes:
                self.transport.abort()
            return
        self._unfed = self._unfed + data if self._unfed else data
        self._feed()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keep the connection for the answers, where the caller has closed its sending half."""
        may_wait = self.limits.is_service and not self.config.is_ssl
        if not (may_wait and self._is_waiting() and self._is_open()) or self._in_message:
            return False
        self._is_half_closed = True
        self.limits.watch(self, "half_closed", self.limits.settings.caller_timeout_s)
        return True

    def end_wait(self, wait: str) -> None:
        """End a wait that took too long."""
        if wait == "head":
            self._refuse("body_timeout", "the head did not arrive in time", "head_timeout")
        elif wait == "body" and self.cycle is not None and not self.cycle.response_complete:
            self.limits.refused("body_timeout")
            self.cycle.keep_alive = False
            self.cycle.scope["state"][LATE] = True
            self.cycle.message_event.set()
        elif wait == "unread":
            self.limits.refused("unread_answer")
            self.transport.abort()
        else:  # idle from the beginning, lingering while closing, or answered before its body
            self.transport.close()

    def is_receiving(self) -> bool:
        """Return whether the caller may still be sending a request."""
        return self._is_refused or self._in_message

    def has_waiting(self) -> bool:
        """Return whether requests wait behind one that is being answered."""
        return bool(self.pipeline or self._unfed)

    def _feed(self) -> None:
        """Parse until a request has to wait for the one before it."""
        self._unset_keepalive_if_required()
        view = memoryview(self._unfed)
        at = 0
        while at < len(view) and not self.pipeline and self._is_open():
            part = view[at : at + SLICE] if self._in_head else view[at:]
            at += len(part)
            self._has_progressed = False
            try:
                self.parser.feed_data(part)
            except httptools.HttpParserUpgrade as upgrade:
                rest = at - len(part) + upgrade.args[0]
                view = memoryview(self._drop_upgrade() + view[rest:])
                at = 0
                self.parser = httptools.HttpRequestParser(self)  # this one may have ended
            except httptools.HttpParserError as error:
                at = len(view)
                cause = error.__context__
                if isinstance(cause, HeadRefused):
                    self._refuse(cause.code, cause.detail)
                else:
                    is_tls = self._unfed.startswith(TLS_HANDSHAKE)
                    reason = "https_on_http_port" if is_tls else ""
                    self._refuse("bad_request", "this is not HTTP/1.1", reason)
                break
            self._pending = 0 if self._has_progressed else self._pending + len(part)
            if self._head_bytes + self._pending > MAX_HEAD_BYTES:
                self._refuse("headers_too_large", _TOO_LARGE)
        self._unfed = bytes(view[at:]) if self._is_open() else b""
        if self.cycle is None or len(self.cycle.body) <= HIGH_WATER_LIMIT:
            self.flow.resume_reading()
        self.limits.unwatch(self, "silent")
        if self._is_in_head() and self._is_open():
            self.limits.watch(self, "head", self.limits.settings.caller_timeout_s * HEAD_SHARE)
        else:
            self.limits.unwatch(self, "head")

    def _is_waiting(self) -> bool:
        """Return whether there is a request that is not answered."""
        is_answered = self.cycle is None or self.cycle.response_complete
        return not is_answered or self.has_waiting()

    def _is_in_head(self) -> bool:
        return self._in_head and bool(self._has_begun or self._pending)

    def _is_open(self) -> bool:
        return self.parser is not None and not (self.transport.is_ended or self._is_refused)

    def on_message_begin(self) -> None:
        """Begin to count a head."""
        super().on_message_begin()
        self._has_progressed = self._in_head = self._has_begun = True
        self._head_bytes = self._header_count = self._chunks = self._body_bytes = 0

    def on_url(self, url: bytes) -> None:
        """Take a part of the request line."""
        super().on_url(url)
        self._has_progressed = True
        self._head_bytes += len(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; only count a trailer.

        Raises:
            HeadRefused: there are too many bytes or headers.
        """
        # Called ten times a request: uvicorn's own method would be another call each.
        size = len(name) + len(value)
        self._header_count = count = self._header_count + 1
        self._head_bytes = total = self._head_bytes + size + 4
        self._has_progressed = True
        if count > MAX_HEADERS or size > MAX_HEADER_BYTES or total > MAX_HEAD_BYTES:
            raise HeadRefused("headers_too_large", _TOO_LARGE)
        if self._in_head:
            name = name.lower()
            if name == b"expect" and value.lower() == b"100-continue":
                self.expect_100_continue = True
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Start to answer.

        Raises:
            HeadRefused: HTTP/1.1 without the one Host that it requires, or CONNECT.
        """
        self._has_progressed = True
        hosts = [name for name, _ in self.headers].count(b"host")
        if hosts != 1 and self.parser.get_http_version() == "1.1":
            raise HeadRefused("bad_request", "HTTP/1.1 needs one Host header")
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                raise HeadRefused("bad_request", "this is no tunnel")
            return  # the parser skips its body: it is read again
        super().on_headers_complete()  # fails where the target has no path
        self._in_head = False
        self._has_begun = False
        self._in_message = True
        if self.limits.is_service:
            self.limits.watch(self, "body", self.limits.settings.caller_timeout_s)

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._has_progressed = True
        self._body_bytes += len(body)
        self._pieces.append(body)
        self._held_bytes += len(body)
        if self._held_bytes > (HELD_BYTES if self.limits.is_service else 0):
            self._hand_over()
        if self._body_bytes > MAX_UNREAD and self.cycle.response_complete:
            self.transport.close()

    def _hand_over(self) -> None:
        """Give the application what has come of its request's body, in one piece and uncopied."""
        together = b"".join(self._pieces)
        self._pieces = []
        self._held_bytes = 0
        if not self.cycle.body:
            self.cycle.body = b""  # type: ignore[assignment]  # uvicorn's array is copied twice
        super().on_body(together)

    def on_chunk_header(self) -> None:
        """Note that a chunk begins, so that earlier headers were no trailers.

        Raises:
            HeadRefused: there are too many tiny chunks.
        """
        self._has_progressed = True
        self._chunks += 1
        if self._chunks > FEW_CHUNKS and self._chunks * MIN_CHUNK > self._body_bytes:
            raise HeadRefused("bad_request", f"chunks have fewer than {MIN_CHUNK} bytes")

    def on_message_complete(self) -> None:
        """End a request; what follows is the head of the next."""
        if self._in_head:
            return
        self._has_progressed = True
        self._in_head = True
        self._in_message = False
        self._head_bytes = 0
        self.limits.unwatch(self, "body")
        if self._pieces:
            self._hand_over()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Continue with data that waited for this answer."""
        super().on_response_complete()
        self._since = self.loop.time()
        if self._unfed and self._is_open():
            self.loop.call_soon(self._feed)
        elif self._is_half_closed and not self._is_waiting():
            self.transport.close()

    def pause_writing(self) -> None:
        """Set a deadline for the caller to read its answer."""
        super().pause_writing()
        self.limits.watch(self, "unread", self.limits.settings.caller_timeout_s)

    def resume_writing(self) -> None:
        """Resume writing."""
        super().resume_writing()
        self.limits.unwatch(self, "unread")

    def _drop_upgrade(self) -> bytes:
        """Return the head without the protocol that it offers to change to.

        Java's HttpClient offers HTTP/2 with its requests, and the parser skips the body then.
        """
        version = self.parser.get_http_version().encode()
        lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, version)]
        lines += [b"%s: %s" % header for header in self.headers if header[0] != b"upgrade"]
        return b"\r\n".join([*lines, b"", b""])

    def _refuse(self, code: str, detail: str, reason: str = "") -> None:
        """Answer with a problem, unless another answer has begun, and close."""
        self.limits.refused(reason or code)
        self.limits.unwatch(self, "body")
        self._is_refused = True
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            if self._in_head:  # of a later request: those before it are answered
                cycle.keep_alive = False
                return
            if cycle.response_started or self.pipeline:
                self.transport.abort()
                return
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.write(self.limits.refusal(code, detail, self.url))
        self.transport.close()
