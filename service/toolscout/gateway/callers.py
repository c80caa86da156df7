"""Refuse requests of pages of a browser, and those without the key of the gateway or proxy."""

from collections.abc import Iterable
from hmac import compare_digest

from toolscout.serving.bodies import BodyRefused
from toolscout.serving.callers import FOREIGN_STATUS, CallerGuard


class Refused(BodyRefused):
    """A request that is not forwarded, or an answer that cannot be."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(status, detail)
        self.code = code


def check_caller(
    guard: CallerGuard,
    headers: Iterable[tuple[bytes, bytes]],
    key: str | None,
    shown: bytes,
    whose_key: str,
) -> None:
    """Check who sends a request.

    Args:
        guard: knows the names of this server.
        headers: those of the request.
        key: what callers have to send; None lets all in.
        shown: what this one has sent.
        whose_key: says in the refusal whose key is missing, and how it is sent.

    Raises:
        Refused: it comes from a foreign page, or without the key.
    """
    sent = dict(headers)
    foreign = guard.refusal(sent.get(b"host", b""), sent.get(b"origin", b""), is_keyless=not key)
    if foreign is not None:
        code, detail = foreign
        raise Refused(FOREIGN_STATUS[code], code, detail)
    if key and not compare_digest(shown, key.encode()):
        raise Refused(401, "unauthorized", f"send the key of this {whose_key}")
