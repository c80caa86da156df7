"""A small fielded BM25, the lexical half of the hybrid that the model is chosen for.

It stands in for the service's own ranker, so that training depends on nothing of the service.
"""

import re
from collections import Counter

import numpy as np
import Stemmer
from numpy.typing import NDArray

from evals.train.data import Tool, ToolSet
from evals.train.texts import query_text, split_identifiers, spoken_name

K1 = 1.2
B = 0.75
NAME_WEIGHT = 2.0
PROPERTY_WEIGHT = 0.3
"""Property text helps where a request carries values, and misleads at full weight."""

_STOP_WORDS = """
a an and are as at be by can could do for from have i if in into is it its like me my need of on or
our please so some that the their them then there these this to us want was we what when which will
with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

_WORDS = re.compile(r"[^\W_]+")
_stemmer = Stemmer.Stemmer("english")


def terms(text: str) -> list[str]:
    """Lower-cased, stemmed words without stop words."""
    words = [word for word in _WORDS.findall(text.lower()) if word not in STOP_WORDS]
    return list(_stemmer.stemWords(words))


def bm25_scores(tool_set: ToolSet) -> NDArray[np.float32]:
    """BM25 of every query against every tool, shape (queries, tools)."""
    bags = [_weighted_terms(tool) for tool in tool_set.tools]
    vocabulary = {term: i for i, term in enumerate(dict.fromkeys(t for bag in bags for t in bag))}
    counts = np.zeros((len(vocabulary), len(bags)), dtype=np.float32)
    for column, bag in enumerate(bags):
        for term, weight in bag.items():
            counts[vocabulary[term], column] = weight
    lengths = counts.sum(axis=0)
    norm = K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1e-9))
    found = (counts > 0).sum(axis=1, keepdims=True)
    idf = np.log1p((len(bags) - found + 0.5) / (found + 0.5))
    weights = idf * counts * (K1 + 1) / (counts + norm)
    scores = np.zeros((len(tool_set.queries), len(bags)), dtype=np.float32)
    for row, query in enumerate(tool_set.queries):
        wanted = {vocabulary[t] for t in terms(query_text(query)) if t in vocabulary}
        scores[row] = weights[sorted(wanted)].sum(axis=0)
    return scores


def _weighted_terms(tool: Tool) -> Counter[str]:
    bag: Counter[str] = Counter()
    properties = " ".join(f"{spoken_name(key)} {text}" for key, text in tool.properties)
    for text, weight in (
        (spoken_name(tool.name), NAME_WEIGHT),
        (split_identifiers(tool.description), 1.0),
        (properties, PROPERTY_WEIGHT),
    ):
        for term in terms(text):
            bag[term] += weight  # type: ignore[assignment]  # weights are fractions of a count
    return bag
