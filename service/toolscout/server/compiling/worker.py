"""The worker process: it reads, compiles and scans lists of tools that nobody sent before.

All of that is Python that holds an interpreter lock, for milliseconds to seconds, and here it holds
another one than the event loop's. A list is read before it waits for its compile, in threads of
their own, and scans and other short calls have theirs: nobody waits for the compile of another.

Work is a function of the worker and further arguments, sent by reference. What it returns is its
reply; a generator replies several times.
"""

import ctypes
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from inspect import isgenerator
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

import msgspec

from toolscout.common.fairness import FairPool
from toolscout.common.lru import Lru
from toolscout.common.threads import use_one_arena
from toolscout.engine import Engine
from toolscout.errors import Overloaded
from toolscout.index.cache import CatalogCache
from toolscout.index.compile import CompiledTool, ToolStore
from toolscout.index.encoded import ToolEncodings
from toolscout.index.encoder import load_encoder
from toolscout.index.name_vectors import NameVectors
from toolscout.index.packing import SEED, Packed, pack
from toolscout.index.tool_list import ToolList
from toolscout.index.vectors import Floats
from toolscout.tools.documents import decode_tool

QUERIES_AT_ONCE = max(1, (os.cpu_count() or 2) // 2)
"""Half of the cores: the event loop needs one, and several queries to a core are all late."""

THREADS = {"read": 2, "call": 4, "compile": 2, "query": QUERIES_AT_ONCE, "encode": 1}
"""Threads by kind of work. Of two compiles one may be huge without holding up small ones."""

ENCODE_NICE = 10
"""How far encoding tools stands back from everything else: some tenth of a core where others want
it. Not further, because the thread may hold the interpreter lock while it stands back.
"""

KEPT_BYTES = 32 * 1024 * 1024
"""Lists, as they were sent, that stay decoded for their compile and the calls that come after."""

SWITCH_S = 0.001
"""How long a thread may keep the lock from others: reading has a deadline, compiling has not."""

STEP_ASIDE_S = 0.002
"""How long a compile waits, at each tool, while calls run: somebody waits for them."""

HEARTBEAT_S = 1.0
"""Seconds without other messages after which the worker says that it is alive."""

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_LEFT_TO_PARENT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Setup(msgspec.Struct, frozen=True):
    """What a worker has to know."""

    model: str | None
    synonyms: str | None
    domains: str | None
    max_tools: int
    cache_bytes: int
    encoder: bool = False
    seed: int = SEED
    """Of the serving process."""


class Sent(msgspec.Struct, frozen=True):
    """A list as it was sent, and its SHA-256."""

    tenant: str
    raw_hash: bytes
    raw: bytes


class Listing(msgspec.Struct, frozen=True):
    """What is known of a list as soon as it is read."""

    digest: str
    offered: int
    unnamed: int
    unique: int


class Complete(msgspec.Struct, frozen=True):
    """The vectors of a catalog, and the milliseconds that each tool took."""

    vectors: tuple[Floats, NameVectors] | None
    spent: float


class Worker:
    """Does the work of one serving process, as it comes, until the connection ends."""

    def __init__(self, connection: Connection, engine: Engine, setup: Setup) -> None:
        self.engine = engine
        self.seed = setup.seed
        self.encodings: ToolEncodings | None = None
        """None before the encoder is loaded, and where there is none."""
        self._connection = connection
        self._sending = Lock()
        self._max_tools = setup.max_tools
        self._cache = CatalogCache(setup.cache_bytes)
        self._lists: Lru[tuple[str, bytes], ToolList] = Lru(KEPT_BYTES)
        self._pools = {name: FairPool(threads, name) for name, threads in THREADS.items()}
        if setup.encoder:
            self._pools["encode"].submit("", self._load_encoder)

    def run(self) -> None:
        """Serve until the other end is gone."""
        with suppress(EOFError, OSError):
            while True:
                if self._connection.poll(HEARTBEAT_S):
                    number, pool, tenant, work, args = self._connection.recv()
                    self._pools[pool].submit(tenant, self._answer, number, work, args)
                else:
                    self._send(0, None)

    def read(self, sent: Sent) -> ToolList:
        """Return the tools of a list.

        Raises:
            InvalidRequest: they are at fault.
        """
        key = sent.tenant, sent.raw_hash
        found = self._lists.get(key)
        if found is None:
            found = ToolList.decode(sent.raw, self._max_tools)
            self._lists.put(key, found, len(sent.raw))
        return found

    def forget(self, sent: Sent) -> None:
        """Drop the decoded tools of a list."""
        self._lists.pop((sent.tenant, sent.raw_hash))

    def store(self, tenant: str) -> "YieldingStore":
        """Return the compiled tools of a tenant."""
        return YieldingStore(self._cache.tools(tenant), self._pools["call"])

    def _answer(self, number: int, work: Callable[..., Any], args: tuple[Any, ...]) -> None:
        """Run `work` and send its replies or its error."""
        try:
            reply = work(self, *args)
            for each in reply if isgenerator(reply) else (reply,):
                self._send(number, each)
        except Exception as error:
            self._send(number, _portable(error))

    def _send(self, number: int, reply: Any) -> None:
        message = pickle.dumps((number, reply), protocol=5)
        try:
            with self._sending:
                self._connection.send_bytes(message)
        except OSError:
            os._exit(0)  # the other end is gone

    def _load_encoder(self) -> None:
        if sys.platform == "linux":  # where a thread has a priority of its own
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), ENCODE_NICE)
        self.encodings = ToolEncodings(load_encoder(), self.engine.embedder)


class YieldingStore:
    """A tool store that lets calls go first."""

    def __init__(self, store: ToolStore, calls: FairPool) -> None:
        self._store = store
        self._calls = calls
        self.put = store.put

    def get(self, digest: bytes) -> CompiledTool | None:
        """Return a compiled tool, after stepping aside for calls that run."""
        if self._calls.running:
            time.sleep(STEP_ASIDE_S)
        return self._store.get(digest)


def read_list(worker: Worker, sent: Sent) -> Listing:
    """Read a list, which stays decoded for its compile."""
    tools = worker.read(sent)
    return Listing(tools.digest, tools.offered, tools.unnamed, len(tools.tools))


def compile_list(worker: Worker, sent: Sent) -> Iterator[Packed | Complete]:
    """Compile a list: first a catalog that answers by words, then what completes it."""
    tools = worker.read(sent)
    began = time.thread_time()  # others run beside it, and count for themselves
    compiler = worker.engine.compiler
    lexical, compiled = compiler.lexical(tools, worker.store(sent.tenant))
    yield pack(lexical, worker.seed)
    vectors = compiler.vectors(lexical.names, compiled)
    spent = (time.thread_time() - began) * 1_000 / max(len(tools.tools), 1)
    worker.forget(sent)  # few ask for its texts from now on
    yield Complete(vectors, spent)


def encode_tools(worker: Worker, tenant: str, wires: Sequence[bytes]) -> Floats | None:
    """Return the encoder's vectors of tools, shape (tools, 384); None if there is no encoder."""
    known = worker.encodings
    return None if known is None else known.of(tenant, map(decode_tool, wires))


def encode_query(worker: Worker, text: str) -> Floats | None:
    """Return the encoder's vector of a query, shape (384,); None before the encoder is loaded."""
    return None if worker.encodings is None else worker.encodings.encoder.query(text)


def _portable(error: Exception) -> Exception:
    """Return an error as it is, where it can be sent."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    except Exception:
        return Overloaded(f"a worker failed: {type(error).__name__}")
    return error


def serve(connection: Connection, engine: Engine, setup: Setup) -> None:
    """Be a worker until the connection ends; signals are left to the serving process."""
    if sys.platform == "linux":  # it also ends with its parent where it is stopped
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    for number in _LEFT_TO_PARENT:
        signal.signal(number, signal.SIG_IGN)
    sys.setswitchinterval(SWITCH_S)
    Worker(connection, engine, setup).run()


def main(descriptor: int) -> None:
    """Be a worker in an interpreter of its own, which receives its setup first."""
    use_one_arena()
    connection = Connection(descriptor)
    with suppress(EOFError):
        setup = connection.recv()
        engine = Engine((), model=setup.model, synonyms=setup.synonyms, domains=setup.domains)
        serve(connection, engine, setup)
    os._exit(0)
