"""Serve the proxy with uvicorn."""

import logging
import signal
import sys
from typing import Any

import uvicorn

from toolscout.common.listening import listen

KEEPALIVE_S = 65
"""Seconds that idle connections of callers are kept: longer than the SDKs keep theirs."""

GRACE_S = 30
"""Seconds that open responses may take to finish after SIGTERM."""


def serve(application: Any, host: str, port: int) -> int:
    """Run the application until a signal ends it; returns the exit status.

    Raises:
        OSError: nobody can listen at the address.
    """
    listen(host, port, "set another by --port").close()  # uvicorn would say it in its own words
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(message)s")
    # These write the URL of every request, and a query may hold a key.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    server = uvicorn.Server(
        uvicorn.Config(
            application,
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=KEEPALIVE_S,
            timeout_graceful_shutdown=GRACE_S,
        )
    )
    # The server raises the signal again that has ended it, and such an end is no failure.
    signal.signal(signal.SIGTERM, lambda *_: None)
    server.run()
    return 0 if server.started else 1
