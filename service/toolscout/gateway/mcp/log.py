"""The log of the gateway, on standard error, which hosts keep."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

logger = logging.getLogger("toolscout.mcp")


@contextmanager
def silence() -> Iterator[None]:
    """Silence all logging meanwhile; the command prints what matters."""
    logging.disable()
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def log_to_stderr() -> None:
    """Log in lines, never a stack trace, and nothing that libraries say.

    They write addresses, arguments, paths and stack traces; what matters is logged here.
    """
    os.environ["FASTMCP_LOG_ENABLED"] = "false"  # read when that is imported, for a login's tokens
    logging.raiseExceptions = False
    logging.captureWarnings(True)
    logging.basicConfig(level=logging.CRITICAL + 1, format="%(levelname)s %(message)s")
    logging.getLogger("toolscout").setLevel(logging.INFO)
