"""In-process baselines: what others pay for one query over the same tools."""

from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter
from typing import Any

from evals import baselines
from evals.metrics import SHORT
from toolscout.tools.conversion import read_tools


def rank_bm25_per_request(tools: Sequence[dict[str, Any]]) -> Callable[[str], object]:
    """rank-bm25 as a stateless service would use it: an index per request."""
    from rank_bm25 import BM25Okapi

    def search(pattern: str) -> object:
        corpus = [f"{tool['name']} {tool['description']}".lower().split() for tool in tools]
        return BM25Okapi(corpus).get_top_n(pattern.lower().split(), list(tools), 5)

    return search


def chuk(tools: Sequence[dict[str, Any]]) -> Callable[[str], object]:
    """chuk-tool-processor's discovery engine with its tools already set."""
    search = baselines.chuk(read_tools(tools))
    return lambda pattern: search(pattern, SHORT)


PEERS = {"rank-bm25, index per request": rank_bm25_per_request, "chuk-tool-processor": chuk}


def median_ms(search: Callable[[str], object], patterns: Sequence[str]) -> float:
    """Median time of one query."""
    spent = []
    for pattern in patterns:
        began = perf_counter()
        search(pattern)
        spent.append(perf_counter() - began)
    return median(spent) * 1_000
