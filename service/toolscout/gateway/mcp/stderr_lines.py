"""What the process of a server writes to standard error, as lines of the log."""

import asyncio
import logging
import os
import re
import threading
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from toolscout.gateway.mcp.failures import MAX_SHOWN_CHARS, make_printable, redact
from toolscout.gateway.mcp.log import logger

MAX_LINE_BYTES = 16_384
"""Bytes of a line of a server's standard error that are read."""

MAX_LINE_CHARS = 2_000
"""Characters of such a line that are logged."""

MAX_LINES_PER_S = 200
"""Lines of a server that are logged in a second; more are counted."""

PAUSE_S = 0.001
"""Pause of the thread that drops what a server writes, so that others have their turn."""

LAST_LINE_S = 0.5
"""Seconds to read what a process wrote before it ended, if another one holds its pipe open."""

_WRONG = re.compile(r"error|usage|traceback", re.IGNORECASE)
"""How the text in a frame begins that says why a server ends."""

_FRAME = re.compile(r"[\s\u2500-\u259f]+")
"""What frames and banners are drawn with: lines, corners and blocks."""


@asynccontextmanager
async def log_lines(name: str, secrets: tuple[str, ...]) -> AsyncIterator[int]:
    """Yield the writing end of a pipe whose lines are logged under a server's name.

    An error meanwhile gets the last line as a note, or the last that tells of an error.
    """
    last: deque[str] = deque(maxlen=1)
    source, target = os.pipe()
    # Ends when the last process with the other end has gone, and holds up no exit.
    relay = threading.Thread(target=_relay, args=(name, source, secrets, last), daemon=True)
    relay.start()
    try:
        try:
            yield target
        finally:
            os.close(target)
    except Exception as error:
        await asyncio.to_thread(relay.join, LAST_LINE_S)
        for line in last:
            error.add_note(line[:MAX_SHOWN_CHARS])
        raise


def _relay(name: str, source: int, secrets: tuple[str, ...], last: deque[str]) -> None:
    """Log each line; what is too long, and the rest of a line that was cut, is dropped.

    Of what is drawn in a frame, as a banner, the first line with words is logged for everybody, and
    all of an error.
    """
    longest = max((len(line) for secret in secrets for line in secret.splitlines()), default=0)
    with os.fdopen(source, "rb") as lines:
        count = 0
        second = time.monotonic()
        is_told = False
        while piece := lines.readline(MAX_LINE_BYTES):
            is_cut = len(piece) == MAX_LINE_BYTES and not piece.endswith(b"\n")
            rest = piece
            while is_cut and rest and not rest.endswith(b"\n"):
                time.sleep(PAUSE_S)
                rest = lines.readline(MAX_LINE_BYTES)
            if time.monotonic() > second + 1:
                if count > MAX_LINES_PER_S:
                    logger.info("%s: (%d more lines)", name, count - MAX_LINES_PER_S)
                count = 0
                second = time.monotonic()
            count += 1
            if count > MAX_LINES_PER_S:
                if count % MAX_LINES_PER_S == 0:
                    time.sleep(PAUSE_S)
                continue
            text = redact(piece.decode("utf-8", "replace").rstrip("\r\n"), secrets)
            if is_cut:
                text = text[: max(0, len(text) - longest)]  # it may end within a secret
            words = _FRAME.sub(" ", text).strip()
            is_drawn = words[:1] != text.strip()[:1]
            level = logging.DEBUG if not words or (is_drawn and is_told) else logging.INFO
            is_told = is_drawn and (is_told or bool(words and not _WRONG.search(words)))
            shown = words if is_drawn else text
            shown = make_printable(shown[:MAX_LINE_CHARS])
            logger.log(level, "%s: %s", name, shown)
            if words and (_WRONG.search(words) or not any(map(_WRONG.search, last))):
                last.append(shown)
