"""Refuse requests of pages of a browser, and those without the key of the gateway or proxy."""

from collections.abc import Iterable
from hmac import compare_digest

from toolscout.serving.bodies import BodyRefused
from toolscout.serving.callers import FOREIGN_STATUS, CallerGuard


class CallerRefused(BodyRefused):
    """A request that is not forwarded, or an answer that cannot be."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(status, detail)
        self.code = code


class CallerCheck:
    """Checks who sends a request.

    Args:
        host: the address that is listened on.
        allowed_hosts: further names of this server, with commas.
        key: what callers have to send; None lets all in.
        whose_key: says in a refusal whose key is missing, and how it is sent.
    """

    def __init__(
        self, host: str, allowed_hosts: str | None, key: str | None, whose_key: str
    ) -> None:
        self._guard = CallerGuard(host, allowed_hosts)
        self._key = key
        self._whose_key = whose_key

    def check(self, headers: Iterable[tuple[bytes, bytes]], shown: bytes) -> None:
        """Check the headers of a request, and the key that it shows.

        Raises:
            Refused: it comes from a foreign page, or without the key.
        """
        self.check_page(headers, is_keyless=not self._key)
        if self._key and not compare_digest(shown, self._key.encode()):
            raise CallerRefused(401, "unauthorized", f"send the key of this {self._whose_key}")

    def check_page(self, headers: Iterable[tuple[bytes, bytes]], *, is_keyless: bool) -> None:
        """Check whether a page of a browser sends a request.

        Raises:
            CallerRefused: it comes from a foreign page.
        """
        sent = dict(headers)
        host = sent.get(b"host", b"")
        origin = sent.get(b"origin", b"")
        if foreign := self._guard.refusal(host, origin, is_keyless=is_keyless):
            code, detail = foreign
            raise CallerRefused(FOREIGN_STATUS[code], code, detail)
