"""Answers that handlers return, and how they are sent."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec
from litestar.types import Send

from toolscout.contract.bounds import MAX_TAGS
from toolscout.server.http.problems import CODES, Refused, refuse_field, write_problem
from toolscout.server.http.request import request_id

Headers = Iterable[tuple[bytes, bytes]]

COMPRESS = "/api/compress/tool-discovery"
GATEWAY_PREFIX = "/api/compress/"
"""Below this path every answer, errors included, has the shape of the newer contract."""

JSON = b"application/json"
PROBLEM = b"application/problem+json"

_encode = msgspec.json.Encoder().encode
_WITHOUT_BODY = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
_CHALLENGE = (b"www-authenticate", b'Bearer realm="toolscout"')


class RawAnswer(msgspec.Struct, frozen=True):
    """One answer; the identity of the request is added when it is sent."""

    body: bytes = b""
    headers: Headers = ()
    status: int = 200
    media: bytes = JSON

    def head(self) -> list[tuple[bytes, bytes]]:
        """Return the headers of the answer itself."""
        lines = list(self.headers)
        if self.status not in _WITHOUT_BODY:
            lines.append((b"content-type", self.media))
            lines.append((b"content-length", b"%d" % len(self.body)))
        return lines


def answer_json(content: Any, headers: Headers = (), status: int = 200) -> RawAnswer:
    """Encode an answer as JSON."""
    return RawAnswer(_encode(content), headers, status)


def answer_refused(refused: Refused, request_id: str, *, newer_contract: bool = False) -> RawAnswer:
    """Explain a refusal in a problem document, in the shape of either contract."""
    kind = CODES[refused.code]
    headers = list(refused.headers)
    if kind.retry_after_s is not None:
        headers.append((b"retry-after", b"%d" % kind.retry_after_s))
    if refused.code == "unauthorized":
        headers.append(_CHALLENGE)
    text = write_problem(refused, request_id, newer_contract=newer_contract)
    return RawAnswer(_encode(text), headers, kind.status, PROBLEM)


async def send_answer(send: Send, answer: RawAnswer) -> None:
    """Send an answer."""
    await send({"type": "http.response.start", "status": answer.status, "headers": answer.head()})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})


def add_identity(headers: Headers, request_id: str, *, close: bool) -> list[tuple[bytes, bytes]]:
    """Add the headers that every answer has; `close` ends the connection after it."""
    lines = [(b"x-request-id", request_id.encode("latin-1")), *headers]
    if close:
        lines.append((b"connection", b"close"))
    return lines


def write_refusal(code: str, detail: str, path: bytes) -> bytes:
    """Write the refusal of a connection, head and body; it has no request."""
    identity = request_id(b"")
    newer = path.startswith(GATEWAY_PREFIX.encode())
    answer = answer_refused(Refused(code, detail), identity, newer_contract=newer)
    lines = [b"HTTP/1.1 %d %s" % (answer.status, HTTPStatus(answer.status).phrase.encode())]
    headers = add_identity(answer.head(), identity, close=True)
    lines += [b"%s: %s" % header for header in headers]
    return b"\r\n".join([*lines, b"", answer.body])


def has_tag(header: str, tag: str, *, is_change: bool = False) -> bool:
    """Whether the value of `If-Match` or `If-None-Match` names this content.

    Before a change any tag counts that begins with it: what an overlay adds to a tag changes
    nothing of the content itself.

    Raises:
        InvalidRequest: it lists too many.
    """
    if header.count(",") >= MAX_TAGS:
        message = f"at most {MAX_TAGS} entity tags, got {header.count(',') + 1}"
        raise refuse_field("If-Match, If-None-Match", message)
    named = [each.strip().removeprefix("W/").strip('"') for each in header.split(",")]
    if is_change:
        named = [each.partition(".")[0] for each in named]
    return "*" in named or tag in named
