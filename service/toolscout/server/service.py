"""The parts of one server process, which its calls share."""

import asyncio
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from toolscout.common.lru import Lru
from toolscout.common.optional import import_needed
from toolscout.common.threads import trim_heap, use_one_arena
from toolscout.experience.reported import DAY_S
from toolscout.external.catalogs import ExternalCatalogs
from toolscout.external.packed_tools import build
from toolscout.external.tables import Tables
from toolscout.index.cache import CatalogCache
from toolscout.index.static_model import BUNDLED_MODEL
from toolscout.learning.learner import Learner
from toolscout.ranking.ladder import Costs
from toolscout.server.compiling.jobs import CompileJob
from toolscout.server.compiling.overlay_file import OverlayFile
from toolscout.server.compiling.queue import CompileQueue
from toolscout.server.compiling.work_threads import run_in_thread
from toolscout.server.compiling.worker import make_engine
from toolscout.server.deciding import Together
from toolscout.server.http import admission, answer, auth
from toolscout.server.observe import log, metrics, record
from toolscout.serving.callers import CallerGuard
from toolscout.serving.connections import ServedConnections
from toolscout.settings import Settings
from toolscout.settings_sources import find_secret_file
from toolscout.state.guarded import Guard
from toolscout.state.memory import MemoryStore
from toolscout.state.opening import open_store
from toolscout.state.registry import Registry, SharedCatalogs

if TYPE_CHECKING:
    from toolscout.server.observe.tracing import Tracing

_SELF_TEST = (
    {"name": "read_file", "description": "Read a text file from disk"},
    {"name": "send_email", "description": "Send a message to an address"},
    {"name": "get_weather", "description": "Current weather and forecast for a city"},
)


NAMES_KEPT = 16_384

SLOW_PATTERNS = 4_096
"""Patterns whose cost is remembered because they took too long."""


class Named(NamedTuple):
    """The catalog of a registered name, when it was last looked up."""

    of_all: str
    """The digest of all its tools; empty if nothing is registered."""
    seen: str
    """The digest of those tools that the key may see."""
    created: float
    """When it was registered, in seconds since 1970: after a deletion, it is another catalog."""


STDOUT = 1
"""The descriptor that the log is written to."""


class Service:
    """Model, caches, keys, admission and metrics of one process."""

    def __init__(self, settings: Settings) -> None:
        """Make all parts, load the model and answer one question with it.

        Raises:
            ConfigurationError: the model or a word list cannot be loaded, or a package
                that a setting needs.
        """
        use_one_arena()
        self.settings = settings
        self.rate_limit = admission.RateLimit(settings.rate_limit)
        store = open_store(settings.store, settings.store_bytes)
        self.metrics = metrics.Metrics()
        self.log = log.LineWriter(STDOUT, self.metrics.log_dropped.inc)
        refused = self.metrics.connections_refused
        self.connections = ServedConnections(
            settings,
            answer.write_refusal,
            self.log,
            lambda reason: refused.labels(reason).inc(),
            is_service=True,
        )
        self.records = record.Recorder(settings.log, self.metrics, self.log)
        self.costs = Costs()
        self.admission = admission.Admission(settings.max_in_flight, settings.max_lag_ms)
        self.callers = CallerGuard(settings.host, settings.allowed_hosts)
        self.cache = CatalogCache(settings.cache_bytes)
        self.engine = make_engine(settings, _SELF_TEST)
        self.engine.embedder.prepare()
        self.together = Together(self.engine, self.connections, self.costs)
        self.is_tested = self.engine.search("weather in the city").names[:1] == ["get_weather"]
        self.guard = Guard(store, lambda action: self.metrics.store_failures.labels(action).inc())
        self.shared = None if isinstance(store, MemoryStore) else SharedCatalogs(self.guard)
        model = hash_model(settings.model or BUNDLED_MODEL)
        trim_heap()  # loading leaves 7 MB, which a forked worker would have, too
        self.compiles = CompileQueue(
            self.engine,
            self.cache,
            settings,
            self.costs,
            self.log,
            self.shared,
            self.metrics.compile_failures.inc,
        )
        self.overlay: OverlayFile | None = None
        if settings.overlay:
            self.overlay = OverlayFile(
                Path(settings.overlay),
                self.compiles,
                self.cache,
                self.log,
                self.metrics.overlay_changes,
                self.metrics.overlay_row_used,
            )
        self.loads: dict[tuple[str, str], asyncio.Task[tuple[str | None, CompileJob | None]]] = {}
        """Lists that are being fetched from the store, by tenant and name."""
        self.named: Lru[tuple[str, str], Named] = Lru(NAMES_KEPT)
        """The last known catalog of each registered name, for use while the store is away."""
        self.slow_patterns: Lru[tuple[str, bytes], float] = Lru(SLOW_PATTERNS)
        """Milliseconds per byte of patterns that were given up, by tenant and hash."""
        tables = Tables(store, self.engine.embedder.dimension, build(model, settings.domains))
        self.registry = Registry(self.guard, tables)
        self.external = ExternalCatalogs(
            tables, self.registry, self.engine, self.cache, run_in_thread, self.compiles.run
        )
        self.learner = self._make_learner(model) if settings.learning_days else None
        self.key_file: auth.KeyFile | None = None
        if file := find_secret_file(settings, "api_keys"):
            seen = settings.api_keys or ""
            self.key_file = auth.KeyFile(
                file,
                seen,
                self._use_keys,
                self.log,
                lambda result: self.metrics.key_changes.labels(result).inc(),
            )
        self.tracing = open_tracing() if settings.tracing else None
        """What makes spans, where that is on."""
        self.draining = self.stopping = False
        self._use_keys(auth.Keyring(settings.api_keys))
        self.metrics.describe(model)
        self._show_gauges()

    def _make_learner(self, model: str) -> Learner:
        return Learner(
            self.guard if self.shared is not None else None,
            self.engine.embedder,
            self.cache.find_by_digest,
            model=model,
            kept_s=self.settings.learning_days * DAY_S,
            suspected=lambda what: self.log.error("clock_suspect", detail=what),
        )

    def _use_keys(self, keys: auth.Keyring) -> None:
        self.keyring = keys
        self.admission.serve(len(keys.tenants))
        self.compiles.serve(len(keys.tenants))
        self.metrics.key_expiry.clear()
        ends = [(key.expires, key.tenant) for key in keys.keys if key.expires is not None]
        for expires, tenant in sorted(ends, reverse=True):  # the first to end is set last
            self.metrics.key_expiry.labels(tenant).set(expires.timestamp())

    def components(self) -> dict[str, bool]:
        """Return what readiness consists of."""
        return {
            "model": True,  # nothing is served before it is loaded
            "self_test": self.is_tested,
            "accepting": not self.draining,
        }

    def _show_gauges(self) -> None:
        """Let the metrics read what changes all the time."""
        metrics = self.metrics
        if (learner := self.learner) is not None:
            metrics.clock_suspect.set_function(lambda: learner.held_logs)
        metrics.cache_bytes.set_function(lambda: self.cache.nbytes)
        metrics.cache_entries.set_function(lambda: len(self.cache))
        metrics.in_flight.set_function(lambda: self.admission.in_flight)
        metrics.lag.set_function(lambda: self.admission.lag)
        metrics.compiling.set_function(lambda: len(self.compiles))


def open_tracing() -> "Tracing":
    """Return what makes spans; imported only where it is wanted.

    Raises:
        ConfigurationError: the SDK is not installed, or the environment is wrong.
    """
    module = "toolscout.server.observe.tracing"
    return cast("Tracing", import_needed("tracing", "opentelemetry-sdk", "otel", module).Tracing())


@cache
def hash_model(source: str | Path) -> str:
    """Return half of the SHA-256 of a model's weights, or the name of one of the hub."""
    weights = Path(source) / "model.safetensors"
    if not weights.is_file():
        return str(source)
    return sha256(weights.read_bytes()).hexdigest()[:16]
