"""Variants of our rankers that differ in one thing, made without a switch in the service.

A variant replaces attributes of the service's modules, in this process and for as long as it is
measured. An attribute that no longer exists is an error: a variant must change something.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace

from toolscout.contract.fields import RankerName
from toolscout.contract.requests import Context, Session, Use
from toolscout.contract.tools import Tool
from toolscout.index import compile as compiling
from toolscout.index import embedder, expand, vector_index
from toolscout.index.bm25 import Bm25Weights
from toolscout.index.names import NameIndex
from toolscout.ranking import calibration, coverage, fuse, scorers
from toolscout.text import query, senses, tokens
from toolscout.tools.documents import Document, read_tool

NEVER = 10**9
"""A length that no word has."""

ALL: tuple[RankerName, ...] = ("hybrid", "bm25", "semantic")
WORDS: tuple[RankerName, ...] = ("hybrid", "bm25")
MEANING: tuple[RankerName, ...] = ("hybrid", "semantic")
FUSED: tuple[RankerName, ...] = ("hybrid",)

SESSION_SEED, SESSION_TOOLS = 7, 10
"""The same tools every time."""

NAME_WEIGHTS = (1.0, 2.0, 2.5, 4.0)
SEMANTIC_WEIGHTS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def _nothing(_: Sequence[Tool]) -> dict[str, Any]:
    """Return a question alone."""
    return {}


def _used_at_random(tools: Sequence[Tool]) -> dict[str, Any]:
    """Return a session in which a few tools served a moment ago, none of them for a reason."""
    used = Random(SESSION_SEED).sample([tool.name for tool in tools], SESSION_TOOLS)
    return {"session": Session(recent=tuple(Use(name, successes=1) for name in used))}


@dataclass(frozen=True, slots=True)
class Variant:
    """One row of the ablation table.

    `changes` holds (owner, attribute, value); `rankers` those that it touches; `instead` the
    ranker that runs in place of the hybrid; `asked` what every question says beside its query.
    """

    title: str
    changes: tuple[tuple[Any, str, Any], ...] = ()
    rankers: tuple[RankerName, ...] = ALL
    weights: Bm25Weights | None = None
    model: str | None = None
    instead: RankerName | None = None
    asked: Callable[[Sequence[Tool]], dict[str, Any]] = field(default=_nothing)
    """What every question says beside its query, given the tools of a set."""

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Make the changes and undo them; what was remembered under either is forgotten."""
        with ExitStack() as stack:
            stack.callback(_forget)
            for owner, attribute, value in self.changes:
                stack.enter_context(patch.object(owner, attribute, value))
            _forget()
            yield


def _forget() -> None:
    """Empty the process-wide caches of the rankers, which hold what variants change."""
    tokens._terms_of.clear()
    for name, module in list(sys.modules.items()):
        if name.startswith("toolscout."):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def _without(**fields: Any) -> Callable[[Tool], Document]:
    """Return reading tools with some of their text fields emptied."""
    return lambda tool: replace(read_tool(tool), **fields)


def _name_weight(weight: float) -> Variant:
    field = (weight, *Bm25Weights().field[1:])
    return Variant(f"name weight {weight:g}", rankers=WORDS, weights=Bm25Weights(field=field))


VARIANTS: tuple[Variant, ...] = (
    Variant("no stemming", ((tokens, "_stem_word", str),), WORDS),
    Variant(
        "no camelCase split",
        (
            (tokens, "_ASCII_PARTS", re.compile("[A-Za-z0-9]+")),
            (tokens, "_cut", lambda run: [run]),
        ),
    ),
    Variant(
        "no property text",
        ((compiling, "read_tool", _without(properties="", property_heads="")),),
    ),
    Variant("no property words", ((compiling, "read_tool", _without(properties="")),), WORDS),
    Variant("no names by meaning", ((scorers, "NAME_SHARE", 0.0),), ("hybrid",)),
    Variant("no clauses", ((coverage, "clauses", lambda _: []),), ("hybrid",)),
    Variant("no prerequisites", rankers=("hybrid",), asked=lambda _: {"prerequisites": False}),
    Variant("no property vector", ((embedder, "PROPERTY_SHARE", 0.0),), MEANING),
    *map(_name_weight, NAME_WEIGHTS),
    Variant("no senses of verbs", ((senses, "_meant", lambda *_: ()),)),
    Variant("no synonyms", ((expand, "synonym_terms", dict),), WORDS),
    Variant(
        "no completion, no typo correction",
        ((expand, "MIN_PREFIX", NEVER), (expand, "MIN_FUZZY", NEVER)),
        WORDS,
    ),
    Variant(
        "stop words at full weight",
        ((query, "STOP_WEIGHT", 1.0), (query, "ASKING_WEIGHT", 1.0)),
        WORDS,
    ),
    Variant("domain prior from the query alone", asked=lambda _: {"context": Context()}),
    Variant("session: ten tools used at random", asked=_used_at_random),
    Variant("no exact-name guarantee", ((NameIndex, "mentions", lambda *_: []),)),
    Variant("no sentence split", ((vector_index, "SENTENCE_SHARE", 0.0),), MEANING),
    Variant(
        "model trusted on every word",
        ((embedder.Embedder, "familiarity", lambda *_: 1.0),),
        MEANING,
    ),
    Variant("no gate: no_match is never said", ((calibration, "outcome", lambda *_: "match"),)),
    Variant("fusion by reciprocal rank", rankers=FUSED, instead="rrf"),
    *(
        Variant(f"semantic weight {w:g}", ((fuse, "SEMANTIC_WEIGHT", w),), FUSED)
        for w in SEMANTIC_WEIGHTS
    ),
)


def with_model(title: str, model: str) -> Variant:
    """Another embedding model in place of ours."""
    return Variant(title, rankers=MEANING, model=model)
