"""Rankers by name: ours, the baselines, and any model2vec model on its own.

A ranker takes a set's tools and returns a search over them, the way an application would hold it:
indexing happens once, a query is one call.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from toolscout.contract.fields import Outcome, RankerName
from toolscout.contract.tools import Tool
from toolscout.errors import ConfigurationError
from toolscout.index.cache import CatalogCache
from toolscout.index.catalog import Catalog
from toolscout.index.compile import Compiler
from toolscout.index.embedder import Embedder
from toolscout.index.static_model import BUNDLED_MODEL
from toolscout.index.tool_list import ToolList
from toolscout.index.weighing import Bm25Weights
from toolscout.ranking.ask import Ask
from toolscout.ranking.pipeline import decide

Floats = NDArray[np.float32]

PINS = tuple(
    Tool(name, about)
    for name, about in (
        ("core__read", "Read a file of the workspace"),
        ("core__write", "Write a file of the workspace"),
        ("core__run", "Run a command in the shell"),
        ("core__plan", "Write down the steps of the task"),
    )
)
"""What an agent always shows its model, in whatever set."""

OURS: tuple[RankerName, ...] = ("bm25", "okapi", "semantic", "hybrid", "rrf", "auto")


@dataclass(frozen=True, slots=True)
class Answer:
    """Names of the selected tools, best first; `outcome` only from rankers that judge."""

    names: list[str]
    outcome: Outcome | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether the ranker said that no tool fits."""
        return self.outcome == "no_match" or (self.outcome is None and not self.names)


Search = Callable[[str, int], Answer]
"""One query, at most so many tools."""


class Ranker(Protocol):
    """Indexes tools."""

    def __call__(self, tools: Sequence[Tool]) -> Search:
        """Return a search over the tools."""


Scorer = Callable[[str], Any]
"""The score of every tool for one query."""


class MissingPackage(Exception):  # noqa: N818  # says what is missing, no fault of the caller
    """A baseline's package is not installed."""


@contextmanager
def package(name: str) -> Iterator[None]:
    """Say of an import that fails which package is missing."""
    try:
        yield
    except ImportError:
        raise MissingPackage(name) from None


class Ours:
    """One of the service's rankers, in process.

    What it answers is what a caller gets: nothing on `no_match`, exact names first.
    """

    def __init__(
        self,
        ranker: RankerName,
        model: Embedder | str = str(BUNDLED_MODEL),
        weights: Bm25Weights | None = None,
        asked: Callable[[Sequence[Tool]], dict[str, Any]] = lambda _: {},
        *,
        pins: Sequence[Tool] = (),
        has_encoder: bool = False,
    ) -> None:
        """Take the ranker; `asked` makes what every question over some tools says besides.

        With `has_encoder`, the transformer has a say.

        `pins` are tools beside those of a set that a model sees all the time. As in the client, a
        search is asked for so many more tools, and these take no place of what is found.
        """
        if isinstance(model, str):
            try:
                model = Embedder(model, has_encoder=has_encoder)
            except ConfigurationError:
                raise MissingPackage("the extra encoder") from None
        self.embedder = model
        self._ranker = ranker
        self._asked = asked
        self._compiler = Compiler(self.embedder, weights)
        self._pins = tuple(pins)

    def compile(self, tools: Sequence[Tool]) -> Catalog:
        """Return a catalog of its own: nothing is kept from an earlier set or variant."""
        unlimited = ToolList.of(tools, limit=len(tools))
        catalog = self._compiler.compile(unlimited, CatalogCache().tools("evals"))
        if self.embedder.encoder is not None:
            self.embedder.encoder.open(catalog)
        return catalog

    def __call__(self, tools: Sequence[Tool]) -> Search:
        """Return a search over the tools."""
        catalog = self.compile([*tools, *self._pins])
        pinned = {pin.name for pin in self._pins}
        asked = self._asked(tools)

        def search(query: str, top_k: int) -> Answer:
            count = top_k + len(pinned)
            ask = Ask(pattern=query, top_k=count, ranker=self._ranker, **asked)
            decision = decide(catalog, ask, self.embedder)
            found = [name for name in decision.names if name not in pinned]
            return Answer(found[:top_k], decision.outcome)

        return search


def by_scores(tools: Sequence[Tool], scores: Scorer) -> Search:
    """Return a search that sorts by scores; zero or less is no hit, equals keep their order."""
    last: tuple[str, Any] = ("", None)

    def search(query: str, top_k: int) -> Answer:
        nonlocal last
        if last[0] != query:  # the second call, for a longer answer, costs a baseline nothing
            last = (query, np.asarray(scores(query)))
        found = last[1]
        order = np.argsort(-found, kind="stable")[:top_k]
        return Answer([tools[row].name for row in order.tolist() if found[row] > 0])

    return search


def text_of(tool: Tool) -> str:
    """Return what the baselines index of a tool: its name and its description."""
    return f"{tool.name} {tool.description or ''}"
