"""The worker process: it reads, compiles and scans lists of tools that nobody sent before.

All of that is Python that holds an interpreter lock, for milliseconds to seconds, and here it holds
another one than the event loop's. A list is read before it waits for its compile, in threads of
their own, and scans and other short calls have theirs: nobody waits for the compile of another.
"""

import os
import pickle
import socket
import sys
from collections.abc import Callable
from threading import Event, Lock
from time import perf_counter, thread_time
from typing import Any

from toolscout.common.fairness import FairPool
from toolscout.common.lru import Lru
from toolscout.common.threads import use_one_arena
from toolscout.engine import Engine
from toolscout.errors import Overloaded
from toolscout.index.cache import CatalogCache
from toolscout.index.compile import CompiledTool, ToolStore
from toolscout.index.packing import pack
from toolscout.index.tool_list import ToolList
from toolscout.server.compiling.channel import Channel
from toolscout.server.compiling.encoder_thread import QUERIES_AT_ONCE, EncoderThread
from toolscout.server.compiling.messages import (
    Call,
    Compile,
    Complete,
    Encode,
    EncodeQuery,
    Failed,
    Lexical,
    Listing,
    Read,
    Returned,
    Sent,
    Setup,
)

COMPILES = 2
"""Compiles at a time: a huge list must not hold up a small one."""

READS = 2
CALLS = 4
"""Lists that are read, and calls that run, at a time."""

KEPT_BYTES = 32 * 1024 * 1024
"""Lists, as they were sent, that stay decoded for their compile and the calls that come after."""

SWITCH_S = 0.001
"""How long a thread may keep the lock from others: reading has a deadline, compiling has not."""

STEP_ASIDE_S = 0.005
"""How long a compile waits, at each tool, for calls to end: somebody waits for them."""

HEARTBEAT_S = 1.0
"""Seconds between heartbeats of a running compile; without one for `HUNG_S` it is replaced."""


class Worker:
    """Runs the compiles and calls of one process, as its messages come, until the channel ends."""

    def __init__(self, channel: Channel, engine: Engine, setup: Setup) -> None:
        self.engine = engine
        self._channel = channel
        self._setup = setup
        self._cache = CatalogCache(setup.cache_bytes)
        self._lists: Lru[tuple[str, bytes], ToolList] = Lru(KEPT_BYTES)
        self._calls = FairPool(CALLS, "call")
        self._queries = FairPool(QUERIES_AT_ONCE, "query")
        self._readers = FairPool(READS, "read")
        self._compilers = FairPool(COMPILES, "compile")
        self.encoder = EncoderThread(engine.embedder) if setup.encoder else None
        self._calling = 0
        self._lock = Lock()
        self._quiet = Event()
        self._quiet.set()

    def run(self) -> None:
        """Serve until the other end is gone."""
        while True:
            try:
                number, message = self._channel.receive()
            except EOFError:
                return
            self._take(number, message)

    def read(self, sent: Sent) -> ToolList:
        """Return the tools of a list.

        Raises:
            InvalidRequest: they are at fault.
        """
        key = sent.tenant, sent.raw_hash
        found = self._lists.get(key)
        if found is None:
            raw = bytes(sent.raw)
            found = ToolList.decode(raw, self._setup.max_tools)
            self._lists.put(key, found, len(raw))
        return found

    def _take(self, number: int, message: Any) -> None:
        match message:
            case Read(sent):
                self._readers.submit(sent.tenant, self._answer, number, self._list, sent)
            case Compile(sent):
                self._compilers.submit(
                    sent.tenant, self._answer, number, self._compile, number, sent
                )
            case Encode(tenant, wires) if self.encoder is not None:
                self.encoder.submit(self._answer, number, self.encoder.tools, tenant, wires)
            case EncodeQuery(tenant, text) if self.encoder is not None:
                # No compile steps aside for it: the network runs without the interpreter lock.
                self._queries.submit(tenant, self._answer, number, self.encoder.query, text)
            case Call(tenant, work, args):
                self._calls.submit(tenant, self._answer, number, self._call, work, args)

    def _answer(self, number: int, work: Callable[..., Any], *args: Any) -> None:
        """Run `work` and send its result or its error."""
        try:
            reply = work(*args)
        except Exception as error:
            reply = Failed(_portable(error))
        self._send(number, reply, is_last=True)

    def _send(self, number: int, reply: Any, *, is_last: bool = False) -> None:
        try:
            self._channel.send((number, reply, is_last))
        except OSError:
            os._exit(0)  # the other end is gone

    def _list(self, sent: Sent) -> Listing:
        tools = self.read(sent)
        return Listing(tools.digest, tools.offered, tools.unnamed, len(tools.tools))

    def _compile(self, number: int, sent: Sent) -> Complete:
        tools = self.read(sent)
        began = thread_time()  # others run beside it, and count for themselves
        compiler = self.engine.compiler
        store = YieldingStore(
            self._cache.tools(sent.tenant), self._quiet, lambda: self._send(0, None)
        )
        lexical, compiled = compiler.lexical(tools, store)
        self._send(number, Lexical(pack(lexical, self._setup.seed)))
        vectors = compiler.vectors(lexical.names, compiled)
        spent = (thread_time() - began) * 1_000 / max(len(tools.tools), 1)
        self._lists.pop((sent.tenant, sent.raw_hash))  # few ask for its texts from now on
        return Complete(vectors, spent)

    def _call(self, work: Callable[..., Any], args: tuple[Any, ...]) -> Returned:
        self._count(1)
        try:
            return Returned(work(self, *args))
        finally:
            self._count(-1)

    def _count(self, change: int) -> None:
        with self._lock:
            self._calling += change
            if self._calling:
                self._quiet.clear()
            else:
                self._quiet.set()


class YieldingStore:
    """A tool store that yields to waiting calls and sends heartbeats."""

    def __init__(self, store: ToolStore, quiet: Event, heartbeat: Callable[[], object]) -> None:
        self._store = store
        self._quiet = quiet
        self._heartbeat = heartbeat
        self._last_heartbeat = perf_counter()

    def get(self, digest: bytes) -> CompiledTool | None:
        """Return a compiled tool, after waiting for calls and sending a heartbeat if due."""
        if not self._quiet.is_set():
            self._quiet.wait(STEP_ASIDE_S)
        if perf_counter() - self._last_heartbeat > HEARTBEAT_S:
            self._heartbeat()
            self._last_heartbeat = perf_counter()
        return self._store.get(digest)

    def put(self, digest: bytes, tool: CompiledTool) -> None:
        """Store a compiled tool."""
        self._store.put(digest, tool)


def _portable(error: Exception) -> Exception:
    """Return an error as it is, where it can be sent."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    except Exception:
        return Overloaded(f"a worker failed: {type(error).__name__}")
    return error


def work_with(engine: Engine, setup: Setup) -> Callable[[socket.socket], None]:
    """Return what a forked worker does with its connection."""

    def work(connection: socket.socket) -> None:
        sys.setswitchinterval(SWITCH_S)
        Worker(Channel(connection), engine, setup).run()

    return work


def main(descriptor: int) -> None:
    """Run a spawned worker, which receives its setup first."""
    use_one_arena()
    channel = Channel(socket.socket(fileno=descriptor))
    try:
        setup = channel.receive()
    except EOFError:
        return
    engine = Engine((), model=setup.model, synonyms=setup.synonyms, domains=setup.domains)
    sys.setswitchinterval(SWITCH_S)
    Worker(channel, engine, setup).run()
    os._exit(0)
