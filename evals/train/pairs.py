"""What should meet: queries with their tools, names with descriptions, properties with tools.

A batch comes from one set at a time, so that the set's other tools are the negatives: near
neighbours, as in a real catalog.
"""

import re
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from evals.train.corpus import Corpus, Ids
from evals.train.data import Tool, ToolSet
from evals.train.texts import description_text, query_text, shorten, spoken_name, tool_text

BATCH = 512
EXTRA_TOOLS = 512
"""Tools of the set added as negatives beside the batch's own."""

QUERY_CHARS = 1000
DESCRIPTION_ONLY = 0.15
"""Share of tools shown without their name: names are not always words."""

WITH_PROPERTIES = 0.10
"""Share of tools shown with their property names."""

NAME_PAIRS = 0.5
"""Share of name ↔ description pairs; the rest are properties or sentences ↔ tool."""

MAX_PROPERTIES = 6
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True)
class Batch:
    """Text numbers of both sides and which belong together, shape (left, right)."""

    left: Ids
    right: Ids
    positive: NDArray[np.bool_]


class QuestionPairs:
    """Queries of one set with the tools judged right for them."""

    def __init__(self, corpus: Corpus, tool_set: ToolSet) -> None:
        tools = tool_set.tools
        self._queries = corpus.add_all(
            [query_text(query)[:QUERY_CHARS] for query in tool_set.queries]
        )
        self._golds = tool_set.golds
        self._whole = corpus.add_all([tool_text(tool.name, tool.description) for tool in tools])
        self._nameless = corpus.add_all(
            [description_text(tool.description) or spoken_name(tool.name) for tool in tools]
        )
        self._wide = corpus.add_all([_wide_text(tool) for tool in tools])

    def sample(self, rng: Generator) -> Batch:
        """Return queries against one of their tools each, and other tools of the set."""
        size = min(BATCH, len(self._queries))
        chosen = rng.choice(len(self._queries), size, replace=False)
        tools = np.unique([rng.choice(self._golds[i]) for i in chosen])
        others = np.setdiff1d(np.arange(len(self._whole)), tools)
        others = rng.choice(others, min(EXTRA_TOOLS, len(others)), replace=False)
        tools = np.concatenate([tools, others])
        # Every judged tool counts as right, or one gold would be pushed from another's query.
        positive = np.array([np.isin(tools, self._golds[i]) for i in chosen])
        return Batch(self._queries[chosen], self._variants(tools, rng), positive)

    def _variants(self, tools: Ids, rng: Generator) -> Ids:
        dice = rng.random(len(tools))
        wide = np.where(
            dice < DESCRIPTION_ONLY + WITH_PROPERTIES, self._wide[tools], self._whole[tools]
        )
        return np.where(dice < DESCRIPTION_ONLY, self._nameless[tools], wide)


class DescriptionPairs:
    """Parts of a tool's own text that should meet; needs no queries, so any catalog serves."""

    def __init__(self, corpus: Corpus, tool_set: ToolSet) -> None:
        self._names: list[list[tuple[int, int]]] = []
        self._parts: list[list[tuple[int, int]]] = []
        for tool in tool_set.tools:
            name, description = spoken_name(tool.name), description_text(tool.description)
            whole = tool_text(tool.name, tool.description)
            self._names.append(_added(corpus, [(name, description)] if description else []))
            self._parts.append(_added(corpus, _part_pairs(tool, name, description, whole)))

    def sample(self, rng: Generator) -> Batch:
        """One pair each of a sample of the tools."""
        left: list[int] = []
        right: list[int] = []
        size = min(BATCH, len(self._names))
        for i in rng.choice(len(self._names), size, replace=False):
            names, parts = self._names[i], self._parts[i]
            pairs = names if names and (not parts or rng.random() < NAME_PAIRS) else parts
            if pairs:
                a, b = pairs[rng.integers(len(pairs))]
                left.append(a)
                right.append(b)
        lefts, rights = np.array(left), np.array(right)
        same = (rights[:, None] == rights[None]) | (lefts[:, None] == lefts[None])
        return Batch(lefts, rights, same)


def _added(corpus: Corpus, pairs: list[tuple[str, str]]) -> list[tuple[int, int]]:
    return [(corpus.add(a), corpus.add(b)) for a, b in pairs]


def _wide_text(tool: Tool) -> str:
    names = " ".join(spoken_name(name) for name, _ in tool.properties)
    return f"{tool_text(tool.name, tool.description)} {shorten(names, 200)}"


def _part_pairs(tool: Tool, name: str, description: str, whole: str) -> list[tuple[str, str]]:
    sentences = [part for part in _SENTENCE_END.split(description) if len(part) > 25]
    pairs = [(part, f"{name}. {sentences[0]}") for part in sentences[1:3]]
    if len(sentences) > 1:
        pairs.append((sentences[0], f"{name}. {' '.join(sentences[1:])}"))
    pairs += [
        (f"{spoken_name(key)}. {shorten(text, 200)}", whole)
        for key, text in tool.properties[:MAX_PROPERTIES]
        if len(text) > 10
    ]
    return pairs
