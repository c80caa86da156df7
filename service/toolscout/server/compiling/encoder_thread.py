"""The encoder in the worker process: tools in the background, queries while a search waits."""

import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from toolscout.common.threads import DaemonPool
from toolscout.index.encoder import ToolEncodings, load_encoder
from toolscout.index.vectors import Embedder
from toolscout.server.compiling.messages import Returned
from toolscout.tools.documents import decode_tool

NICE = 10
"""How far tools stand back from everything else: some tenth of a core where others want it.

Not further, because the thread may hold the interpreter lock while it stands back.
"""

QUERIES_AT_ONCE = max(1, (os.cpu_count() or 2) // 2)
"""Half of the cores: the event loop needs one, and several queries to a core are all late."""


class EncoderThread:
    """One thread of low priority, which loads the encoder first."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._encodings: ToolEncodings | None = None
        self._thread = DaemonPool(1, "encode")
        self._thread.submit(self._load)

    def submit(self, work: Callable[..., None], *args: object) -> None:
        """Run a call in the thread."""
        self._thread.submit(work, *args)

    def tools(self, tenant: str, wires: Sequence[bytes]) -> Returned:
        """Return the vectors of tools, shape (tools, 384); None if there is no encoder."""
        if self._encodings is None:
            return Returned(None)
        return Returned(self._encodings.of(tenant, map(decode_tool, wires)))

    def query(self, text: str) -> Returned:
        """Return the vector of a query, shape (384,); None before the encoder is loaded."""
        return Returned(None if self._encodings is None else self._encodings.encoder.query(text))

    def _load(self) -> None:
        if sys.platform == "linux":  # where a thread has a priority of its own
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        self._encodings = ToolEncodings(load_encoder(), self._embedder)
