"""One HTTP exchange at ASGI level: reading the body within limits, writing the answer.

The hot endpoints speak ASGI directly: a framework's request object costs more than the ranking.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from http import HTTPStatus
from random import getrandbits
from time import perf_counter
from urllib.parse import parse_qs

import msgspec
from litestar.types import Message, Receive, Scope, Send

from toolscout.contract import Filters
from toolscout.errors import FieldError, InvalidRequest, ToolscoutError, not_json, wrong_field
from toolscout.server.http.admission import Slot
from toolscout.server.http.deadlines import Deadlines
from toolscout.server.http.problems import CODES, problem
from toolscout.settings import Settings
from toolscout.state.store import StoreFull, StoreUnavailable

_encode = msgspec.json.Encoder().encode
_MAX_REQUEST_ID = 128
_UNKNOWN_KEY = "Object contains unknown field `"
FILTER_KEYS = Filters.__struct_fields__
MAX_KEY_SHOWN = 64
_JSON = b"application/json"
_PROBLEM = b"application/problem+json"


class Refused(Exception):  # noqa: N818 - an answer, not a failure
    """A request that ends in an error answer."""

    def __init__(
        self,
        code: str,
        detail: str,
        errors: Sequence[FieldError] = (),
        headers: Iterable[tuple[bytes, bytes]] = (),
        *,
        suggestions: Sequence[str] = (),
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.errors = errors
        self.headers = list(headers)
        self.suggestions = suggestions


REFUSALS = (Refused, ToolscoutError, StoreUnavailable)
"""What ends a request in an error answer that says why."""


def refusal(error: Refused | ToolscoutError | StoreUnavailable) -> Refused:
    """The error answer for what ended a request."""
    if isinstance(error, ToolscoutError):
        return Refused(error.code, error.detail, error.errors)
    if isinstance(error, StoreFull):
        return Refused("overloaded", "the state store is full; delete what is not needed")
    if isinstance(error, StoreUnavailable):
        return Refused("overloaded", "the state store could not be reached")
    return error


class Exchange:
    """A request on its way to an answer."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, deadlines: Deadlines) -> None:
        self.started = perf_counter()
        self.arrived = 0.0
        """When the body was there; 0 where none was read."""
        self._receive = receive
        self._send = send
        self._deadlines = deadlines
        self.path = str(scope["path"])
        self.method = str(scope.get("method", ""))
        self._scope = scope
        self.query = bytes(scope.get("query_string", b""))
        self.parameters: Mapping[str, str] = {}
        """What stands in the variable parts of the path."""
        self.headers: list[tuple[bytes, bytes]] = list(scope["headers"])
        self._by_name = dict(self.headers)
        self.request_id = request_id(self.header(b"x-request-id"))
        self.close = False
        self.max_answer_bytes = 0
        """Largest answer, 0 for any."""
        self.newer_contract = False
        self.status = 0
        self.bytes_in = 0
        self.slot: Slot | None = None
        """What counts the body, once the request was admitted."""
        self._drained = False
        self._read: bytes | None = None

    @property
    def scheme(self) -> str:
        """`http` or `https`, as the server sees it."""
        return str(self._scope.get("scheme", "http"))

    @property
    def http_version(self) -> str:
        """The protocol's version, such as `1.1`."""
        return str(self._scope.get("http_version", ""))

    @property
    def has_body(self) -> bool:
        """Whether a body was announced."""
        return self.header(b"content-length") not in (b"", b"0") or bool(
            self.header(b"transfer-encoding")
        )

    def header(self, name: bytes) -> bytes:
        """A request header by its lower-case name, empty when absent."""
        return self._by_name.get(name, b"")

    def arguments(self) -> dict[str, str]:
        """The query string; of a repeated name the last counts."""
        found = parse_qs(self.query.decode("latin-1"), keep_blank_values=True)
        return {name: values[-1] for name, values in found.items()}

    async def json_body(self, settings: Settings, limit: int | None = None) -> bytes:
        """The whole body, which must be plain JSON by its headers; `limit` may lower its size.

        Raises:
            Refused: another media type, a compressed body, or one that is too large.
            TimeoutError: it did not arrive in time.
            ClientGone: the caller hung up.
        """
        if self._read is not None:
            return self._read
        media = self.header(b"content-type").partition(b";")[0].strip().lower()
        if media and media != _JSON and not media.endswith(b"+json"):
            raise Refused("unsupported_media_type", "send Content-Type: application/json")
        if self.header(b"content-encoding").strip().lower() not in (b"", b"identity"):
            raise Refused("unsupported_media_type", "send the body without Content-Encoding")
        most = settings.max_body_bytes
        reading = self._body(most if limit is None else min(limit, most))
        self._read = await self._deadlines.keep(reading, settings.body_timeout_s)
        self.arrived = perf_counter()
        return self._read

    async def drain(self, limit: int, timeout: float) -> None:
        """Read and forget what is left of the body, so that the caller sees the answer.

        Closing a socket with unread bytes resets the connection, and the answer is lost.
        """
        size = 0
        try:
            async with asyncio.timeout(timeout):
                while not self._drained and size <= limit:
                    size += len(self._chunk(await self._receive()))
        except (TimeoutError, ClientGone):
            self.close = True
        self.close = self.close or not self._drained

    async def answer(
        self, status: int, body: bytes, headers: Iterable[tuple[bytes, bytes]] = ()
    ) -> None:
        """Send the answer.

        Raises:
            InvalidRequest: it is larger than an answer may be.
        """
        if self.max_answer_bytes and len(body) > self.max_answer_bytes:
            raise too_long(len(body), self.max_answer_bytes)
        await self._respond(status, body, _JSON, headers)

    async def relayed(self, message: Message) -> None:
        """Send on what another application answers, and remember its status."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)

    async def refuse(self, refusal: Refused) -> None:
        """Send an error answer."""
        code = refusal.code
        kind = CODES[code]
        extra = list(refusal.headers)
        if kind.retry_after_s is not None:
            extra.append((b"retry-after", str(kind.retry_after_s).encode()))
        extra.extend((n.lower().encode(), v.encode()) for n, v in challenge(code).items())
        text = problem(
            code,
            refusal.detail,
            self.request_id,
            refusal.errors,
            suggestions=refusal.suggestions,
            newer_contract=self.newer_contract,
        )
        await self._respond(kind.status, _encode(text), _PROBLEM, extra)

    async def _respond(
        self, status: int, body: bytes, media: bytes, headers: Iterable[tuple[bytes, bytes]]
    ) -> None:
        self.status = status
        lines = [(b"x-request-id", self.request_id.encode("latin-1")), *headers]
        if status not in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED):
            lines.append((b"content-type", media))
            lines.append((b"content-length", b"%d" % len(body)))
        if self.close:
            lines.append((b"connection", b"close"))
        await self._send({"type": "http.response.start", "status": status, "headers": lines})
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def _body(self, limit: int) -> bytes:
        declared = self.header(b"content-length")
        if declared.isdigit() and int(declared) > limit:
            raise self._too_large(limit)
        chunks: list[bytes] = []
        size = 0
        while not self._drained:
            chunks.append(self._chunk(await self._receive()))
            size += len(chunks[-1])
            if size > limit:
                raise self._too_large(limit)
            if self.slot is not None:
                self.slot.hold(len(chunks[-1]))
        return b"".join(chunks)

    def _chunk(self, message: object) -> bytes:
        assert isinstance(message, dict)
        if message["type"] == "http.disconnect":
            raise ClientGone
        if not message.get("more_body", False):
            self._drained = True
        chunk: bytes = message.get("body", b"")
        self.bytes_in += len(chunk)
        return chunk

    def _too_large(self, limit: int) -> Refused:
        return Refused("payload_too_large", f"the body may have at most {limit} bytes")


def too_long(got: int, limit: int) -> InvalidRequest:
    """Say of an answer that it is too large, and what makes it smaller."""
    message = f"the answer would have {got} bytes, at most {limit} may be"
    remedy = "lower top_k, page_size, detail, token_budget or the number of names"
    return InvalidRequest(f"{message}: {remedy}", (FieldError("body", message),))


def challenge(code: str) -> dict[str, str]:
    """The header that says how to authenticate, where that is what is missing."""
    return {"WWW-Authenticate": 'Bearer realm="toolscout"'} if code == "unauthorized" else {}


def request_id(given: bytes) -> str:
    """The caller's request id where it is printable, else a new one."""
    text = given[:_MAX_REQUEST_ID].decode("latin-1")
    return text if text and text.isprintable() else f"{getrandbits(64):016x}"


class ClientGone(Exception):  # noqa: N818 - nobody is left to err to
    """The caller closed the connection before its answer."""


def unknown_filter(key: str) -> FieldError:
    """Name a key inside `filters` that does not exist, and the nearest one that does."""
    key = key[:MAX_KEY_SHOWN]
    near = get_close_matches(key.lower(), FILTER_KEYS, 1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"the filters are {', '.join(FILTER_KEYS)}"
    return FieldError(f"filters.{key}", f"is not a filter; {hint}")


def decode_error(error: Exception) -> Refused:
    """Say what is wrong with a body that did not decode, without repeating any of it."""
    if isinstance(error, msgspec.ValidationError):
        wrong = wrong_field("", error)
        if wrong.message.startswith(_UNKNOWN_KEY):
            wrong = unknown_filter(wrong.message.removeprefix(_UNKNOWN_KEY).rstrip("`"))
        return Refused("invalid_request", f"{wrong.path}: {wrong.message}", (wrong,))
    reason = not_json("body", error)
    return Refused("invalid_json", f"the body is not valid JSON: {reason.message}", (reason,))
