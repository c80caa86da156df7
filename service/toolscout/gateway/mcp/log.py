"""The log of the gateway, on standard error, which hosts keep."""

import logging
import os
import sys

LIBRARIES = (
    *("asyncio", "client", "fastmcp", "httpcore2", "httpx2", "mcp", "py.warnings"),
    *("sse_starlette", "uvicorn"),
)
"""Loggers that write addresses, arguments and stack traces; what matters is logged here. That of
the SDK's sessions is called `client`."""

logger = logging.getLogger("toolscout.mcp")


def log_to_stderr() -> None:
    """Log in lines, never a stack trace."""
    os.environ["FASTMCP_LOG_ENABLED"] = "false"  # read when that is imported, for a login's tokens
    logging.raiseExceptions = False
    logging.captureWarnings(True)  # which would show where the gateway is installed
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(message)s")
    for name in LIBRARIES:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
