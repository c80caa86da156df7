"""The selectors of the board by name, and anybody's own from a file.

A file defines `selector(tools)`, which returns a search: `search(query, top_k)` returns names of
tools, best first, none if nothing fits. Tools have `name`, `description` and `schema`.
"""

import asyncio
import runpy
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

from evals import registry
from evals.board import anthropic, peers
from evals.learning import User
from evals.rankers import Answer, Ours, Ranker, Search
from evals.sets import Question
from toolscout.contract.tools import Tool
from toolscout.index.static_model import BUNDLED_MODEL

PREFIX = "toolscout "
LEARNING = f"{PREFIX}+learning"
OURS = {
    "toolscout": "hybrid",
    **{f"{PREFIX}{name}": name for name in ("rrf", "bm25", "semantic", "okapi")},
}
"""Rows by the names that `evals.registry` knows; the first is the default of the service."""

PEERS: dict[str, Callable[[], Ranker]] = {
    "rank-bm25": lambda: registry.find("rank-bm25"),
    "bm25s + stemming": lambda: registry.find("bm25s"),
    "chuk-tool-processor": lambda: registry.find("chuk-tool-processor"),
    "ratel": lambda: peers.ratel,
    "callbus BM25": lambda: peers.callbus,
    "fastmcp BM25": lambda: peers.fastmcp,
    "MiniLM": lambda: registry.find("minilm"),
    "Anthropic regex (rebuilt)": lambda: anthropic.regex,
    "Anthropic BM25 (rebuilt)": lambda: anthropic.bm25,
}

NAMES = (*OURS, LEARNING, *PEERS)

Made = Callable[[Sequence[Tool], Sequence[Question]], Search]
"""Tools and questions to a search; only a selector that learns looks at the questions."""


def find(name: str) -> Made:
    """Return the selector of a name, or of a Python file.

    Raises:
        MissingPackage: its package is not installed.
    """
    if name == LEARNING:
        return _learning
    ranker: Ranker
    if name in OURS:
        ranker = registry.find(OURS[name])
    else:
        ranker = PEERS[name]() if name in PEERS else _from_file(Path(name))
    ranker([_PROBE])  # notices a missing package before the clock starts
    return lambda tools, _: ranker(tools)


_PROBE = Tool("probe", "probe")


def _from_file(path: Path) -> Ranker:
    selector = runpy.run_path(str(path))["selector"]

    def ranker(tools: Sequence[Tool]) -> Search:
        entries = [
            SimpleNamespace(name=t.name, description=t.description or "", schema=peers.schema_of(t))
            for t in tools
        ]
        search = selector(entries)
        return lambda query, top_k: Answer(list(search(query, top_k))[:top_k])

    return ranker


def _learning(tools: Sequence[Tool], questions: Sequence[Question]) -> Search:
    """Tell one half of the questions and ask the other, both ways; no question is told itself."""
    ours = Ours("hybrid", str(BUNDLED_MODEL))
    catalog = ours.compile(tools)
    halves = questions[::2], questions[1::2]
    users = [User(catalog, ours), User(catalog, ours)]
    for user, told in zip(users, reversed(halves), strict=True):
        asyncio.run(user.tell(told))
    second = {question.text for question in halves[1]}

    def search(query: str, top_k: int) -> Answer:
        decision = users[query in second].ask(query, top_k)
        return Answer(decision.names, decision.outcome)

    return search
