"""The worker process: it reads, compiles and scans lists of tools that nobody sent before.

All of that is Python that holds an interpreter lock, for milliseconds to seconds, and here it holds
another one than the event loop's. A list is read before it waits for its compile, in threads of
their own, and scans and other short calls have theirs: nobody waits for the compile of another.

Work is a function of the worker and further arguments, sent by reference. What it returns is its
reply; a generator replies several times.
"""

import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from inspect import isgenerator
from multiprocessing.connection import Connection
from threading import Lock, Thread
from typing import Any

import msgspec

from toolscout.common.lru import Lru
from toolscout.common.threads import FairPool, end_with_parent, use_one_arena
from toolscout.contract.tools import Tool
from toolscout.engine import Engine
from toolscout.errors import FieldError, Overloaded, TooLargeToKeep
from toolscout.index.cache import CatalogCache
from toolscout.index.catalog import EXAMPLE_BYTES, Catalog, Embedded
from toolscout.index.changed import Entries, read_entries
from toolscout.index.compile import Compiler, ToolStore, count_examples
from toolscout.index.compiled_tool import CompiledTool
from toolscout.index.tool_list import ToolList
from toolscout.index.transfer import SEED, Packed, pack
from toolscout.index.vector_index import measure_tool
from toolscout.ranking.native import extension
from toolscout.settings import Settings
from toolscout.tools.conversion import Skipped
from toolscout.tools.filters import filters_of, is_passing, tenant_of
from toolscout.tools.overlay import parse_overlay

THREADS = {"read": 2, "call": 2, "compile": 2}
"""Threads by kind of work. Of two compiles one may be huge without holding up small ones. They all
share a lock: beside four calls, a compile had a sixth of it."""

KEPT_BYTES = 32 * 1024 * 1024
"""Lists, as they were sent, that stay decoded for their compile and the calls that come after."""

SWITCH_S = 0.001
"""How long a thread may keep the lock from others: reading has a deadline, compiling has not."""

STEP_ASIDE_S = 0.002
"""How long a compile waits while calls run, since somebody waits for them, and how long it works
between two waits: where calls never end, it still has half of the time."""

HEARTBEAT_S = 1.0
"""Seconds after which a compile that goes on tells that it does, and the process that it runs."""

BEAT = -1
"""Number of the message that tells that the process runs, whatever its compiles do."""

UNASKED = 0
"""The number of replies that nobody waits for."""

NAME_BYTES = 120
"""Of the tokens of a name, about, with what Python keeps of them."""


class SentList(msgspec.Struct, frozen=True):
    """A list as it was sent, and its SHA-256; of it a key sees the tools of its space."""

    space: str
    raw_hash: bytes
    raw: bytes


class CompiledList(msgspec.Struct, frozen=True):
    """What is known of a list as soon as it is read."""

    digest: str
    offered: int
    skipped: Skipped
    unique: int


Complete = tuple[Embedded | None, float, Entries | None]
"""The vectors of a catalog, the milliseconds for each of its tools, and the entries of its list."""


class Worker:
    """Does the work of one serving process, as it comes, until the connection ends."""

    def __init__(
        self, connection: Connection, engine: Engine, settings: Settings, seed: int = SEED
    ) -> None:
        """Work at one end of a connection; `seed` is that of the other."""
        self.engine = engine
        self.seed = seed
        self._connection = connection
        self._sending = Lock()
        self._told_alive = time.monotonic()
        self._max_tools = settings.max_tools
        self._cache = CatalogCache(settings.cache_bytes)
        self._lists: Lru[tuple[str, bytes, str], ToolList] = Lru(KEPT_BYTES)
        self._pools = {name: FairPool(n, name, _measure) for name, n in THREADS.items()}
        self._compiles: dict[tuple[str, bytes], Future[None]] = {}
        """Those that wait, and those that run."""

    def run(self) -> None:
        """Serve until the other end is gone."""
        Thread(target=self._beat, name="heartbeat", daemon=True).start()
        with suppress(EOFError, OSError):
            while True:
                number, pool, tenant, work, args = self._connection.recv()
                if work is use_overlay:  # it holds for all that comes after it
                    use_overlay(self, *args)
                    continue
                call = self._pools[pool].submit(tenant, self._answer, number, work, args)
                if work is compile_list:
                    key = args[0].space, args[0].raw_hash
                    self._compiles[key] = call
                    call.add_done_callback(partial(self._compiles.pop, key))

    def read(self, sent: SentList) -> ToolList:
        """Return the tools of a list.

        Raises:
            InvalidRequest: they are at fault.
        """
        key = self._find_key(sent)
        tools = self._lists.get(key)
        if tools is None:
            tools = read_tools(sent, self._max_tools, self.engine.compiler)
            self._lists.put(key, tools, len(sent.raw))
        return tools

    def prioritize(self, space: str, raw_hash: bytes) -> None:
        """Put the compile of a list, if it waits, before those that were asked for once."""
        call = self._compiles.get((space, raw_hash))
        if call is not None:
            self._pools["compile"].prioritize(call)

    def forget(self, sent: SentList) -> None:
        """Drop the decoded tools of a list."""
        self._lists.pop(self._find_key(sent))

    def _find_key(self, sent: SentList) -> tuple[str, bytes, str]:
        """Return what a decoded list is kept by: what a key sees depends on the overlay, too."""
        overlay = self.engine.compiler.overlay.of(tenant_of(sent.space))
        return sent.space, sent.raw_hash, overlay.digest

    def check_size(self, words: Catalog, compiled: Sequence[CompiledTool]) -> None:
        """Check that a catalog can be kept once it has its vectors.

        Raises:
            TooLargeToKeep: it cannot.
        """
        vector = measure_tool(len(words), self.engine.embedder.dimension)
        # Examples are texts until they are embedded.
        examples = [tool.examples or tool.example_texts for tool in compiled]
        share = count_examples(examples)
        counted = sum(min(share, len(one)) for one in examples)
        size = words.nbytes + len(words) * (vector + NAME_BYTES) + EXAMPLE_BYTES * counted
        limit = self._cache.catalog_limit
        if size > limit:
            message = f"take {size:,} bytes compiled; half of cache_bytes is {limit:,}"
            raise TooLargeToKeep(f"{len(words):,} tools {message}", (FieldError("tools", message),))

    def store(self, tenant: str) -> "YieldingStore":
        """Return the compiled tools of a tenant."""
        return YieldingStore(self._cache.tools(tenant), self._pools["call"], self.tell_alive)

    def tell_alive(self) -> None:
        """Tell the other end that work goes on, if it has not heard so for a while."""
        now = time.monotonic()
        if now - self._told_alive > HEARTBEAT_S:
            self._told_alive = now
            self._send(UNASKED, None)

    def _beat(self) -> None:
        with suppress(OSError):  # the other end is gone, which whoever receives notices
            while True:
                time.sleep(HEARTBEAT_S)
                self._write(BEAT, None)

    def _answer(self, number: int, work: Callable[..., Any], args: tuple[Any, ...]) -> None:
        """Run `work` and send its replies or its error."""
        try:
            reply = work(self, *args)
            for each in reply if isgenerator(reply) else (reply,):
                self._send(number, each)
        except Exception as error:
            self._send(number, _make_portable(error))

    def _send(self, number: int, reply: Any) -> None:
        try:
            self._write(number, reply)
        except OSError:
            os._exit(0)  # the other end is gone

    def _write(self, number: int, reply: Any) -> None:
        message = pickle.dumps((number, reply), protocol=5)
        with self._sending:
            self._connection.send_bytes(message)


class YieldingStore:
    """A tool store that lets calls go first, and tells that a compile goes on."""

    def __init__(self, store: ToolStore, calls: FairPool, tell_alive: Callable[[], object]) -> None:
        self._store = store
        self._calls = calls
        self._tell_alive = tell_alive
        self._resumed = time.perf_counter()
        self.put = store.put

    def get(self, digest: bytes) -> CompiledTool | None:
        """Return a compiled tool, after stepping aside for calls that run."""
        self._tell_alive()
        if self._calls.running and time.perf_counter() - self._resumed > STEP_ASIDE_S:
            time.sleep(STEP_ASIDE_S)
            self._resumed = time.perf_counter()
        return self._store.get(digest)


def read_tools(sent: SentList, most: int, compiler: Compiler) -> ToolList:
    """Return the tools of a list that its sender sees.

    Raises:
        InvalidRequest: they are at fault.
    """
    tools = ToolList.decode(sent.raw, most)
    filters = filters_of(sent.space)
    if filters is None:
        return tools
    overlay = compiler.overlay.of(tenant_of(sent.space))

    def is_seen(tool: Tool) -> bool:
        adjustment = overlay.find(tool.name)
        ranked = adjustment.adjust(tool, compiler.taxonomy) if adjustment else tool
        return is_passing(ranked, filters, compiler.taxonomy)

    return tools.only(is_seen)


def read_list(worker: Worker, sent: SentList) -> CompiledList:
    """Read a list, which stays decoded for its compile."""
    tools = worker.read(sent)
    return CompiledList(tools.digest, tools.offered, tools.skipped, len(tools.tools))


def compile_list(worker: Worker, sent: SentList) -> Iterator[Packed | Complete]:
    """Compile a list: first a catalog that answers by words, then what completes it.

    Args:
        worker: who does it.
        sent: the list.

    Raises:
        TooLargeToKeep: `cache_bytes` has no room for it, whatever else is kept.
    """
    tools = worker.read(sent)
    began = time.thread_time()  # others run beside it, and count for themselves
    compiler = worker.engine.compiler
    store = worker.store(sent.space)
    overlay = compiler.overlay.of(tenant_of(sent.space))
    lexical, compiled = compiler.lexical(tools, store, overlay)
    worker.tell_alive()
    worker.check_size(lexical, compiled)
    yield pack(lexical, worker.seed)
    vectors = compiler.vectors(compiled, worker.tell_alive)
    worker.tell_alive()
    spent = (time.thread_time() - began) * 1_000 / max(len(tools.tools), 1)
    worker.forget(sent)  # few ask for its texts from now on
    yield vectors, spent, read_entries(sent.raw, tools)


def use_overlay(worker: Worker, text: str) -> None:
    """Compile with these rows of an overlay from now on."""
    worker.engine.compiler.overlay = parse_overlay(text, "overlay")


def _measure(_: int, work: Callable[..., Any], args: tuple[Any, ...]) -> int:
    """Return the bytes of a list that is compiled; other work counts as small."""
    return len(args[0].raw) if work is compile_list else 0


def _make_portable(error: Exception) -> Exception:
    """Return an error as it is, where it can be sent."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    except Exception:
        return Overloaded(f"a worker failed: {type(error).__name__}")
    return error


def serve(connection: Connection, engine: Engine, settings: Settings, seed: int = SEED) -> None:
    """Be a worker until the connection ends; signals are left to the serving process."""
    end_with_parent(signal.SIGKILL)  # also where it is stopped
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.setswitchinterval(SWITCH_S)
    Worker(connection, engine, settings, seed).run()


def main(descriptor: int) -> None:
    """Be a worker in an interpreter of its own, which receives what it needs first."""
    use_one_arena()
    connection = Connection(descriptor)
    with suppress(EOFError):
        settings, seed, overlay = connection.recv()
        engine = make_engine(settings)
        engine.compiler.overlay = parse_overlay(overlay, "overlay")
        serve(connection, engine, settings, seed)
    os._exit(0)


def make_engine(settings: Settings, tools: Sequence[Any] = ()) -> Engine:
    """Return an engine with the model and the word lists of the settings."""
    if not settings.native:
        extension.switch(is_on=False)
    return Engine(
        tools,
        model=settings.model,
        synonyms=settings.synonyms,
        domains=settings.domains,
        encoder=settings.encoder,
    )
