"""The model that is trained: a table of token vectors, a weight per token, and a mean.

The weight is kept apart while training, because how much a word counts must move faster than
what it means; on export both become one row.
"""

import numpy as np
import torch
from model2vec import StaticModel
from model2vec.distill import distill
from numpy.typing import NDArray
from torch.nn import functional

from evals.train.corpus import Corpus, Ids
from evals.train.teacher import teacher_path

DIMENSIONS = 256
"""384 dimensions gained 0.004 nDCG@5 and would not fit 10 MB with the whole vocabulary."""

FREQUENT = 1e-4
"""Tokens more probable than this start with a weight below one half (smooth inverse frequency)."""


class Student(torch.nn.Module):  # type: ignore[misc, unused-ignore]  # torch may lack types
    """Token vectors in the teacher's space, reduced by a projection of shape (384, dimensions)."""

    def __init__(self, tokens: StaticModel, projection: NDArray[np.float32]) -> None:
        super().__init__()
        vectors = np.asarray(tokens.embedding, dtype=np.float32)
        centred = (vectors - vectors.mean(axis=0)) @ projection
        # The vocabulary is sorted by frequency, so Zipf's law gives each token's probability.
        probability = 1.0 / np.arange(2, len(vectors) + 2)
        probability /= probability.sum()
        weights = FREQUENT / (FREQUENT + probability)
        self.vectors = torch.nn.Parameter(torch.tensor(centred, dtype=torch.float32))
        self.log_weights = torch.nn.Parameter(torch.tensor(np.log(weights), dtype=torch.float32))

    def forward(self, corpus: Corpus, numbers: Ids) -> torch.Tensor:
        """Return unit vectors of the texts with these numbers."""
        tokens, starts = corpus.bags(numbers)
        weights = torch.exp(self.log_weights[tokens])
        total = functional.embedding_bag(
            tokens, self.vectors, starts, mode="sum", per_sample_weights=weights
        )
        return functional.normalize(total, dim=1)

    def table(self) -> NDArray[np.float32]:
        """Return the rows to export: vector times weight, shape (tokens, dimensions)."""
        with torch.no_grad():
            rows = self.vectors * torch.exp(self.log_weights)[:, None]
        return np.asarray(rows.numpy(), dtype=np.float32)


def token_vectors() -> StaticModel:
    """Run every token through the teacher alone: its own 384 dimensions, unweighted."""
    return distill(
        str(teacher_path()),
        pca_dims=None,
        sif_coefficient=None,
        quantize_to="float32",
        device="cpu",
    )


def projection(texts: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the directions in which the teacher's vectors differ most: (384, DIMENSIONS)."""
    _, _, directions = np.linalg.svd(texts, full_matrices=False)
    return np.ascontiguousarray(directions[:DIMENSIONS].T, dtype=np.float32)
