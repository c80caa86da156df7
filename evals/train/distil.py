"""Plain distillation: every token of the vocabulary runs through the teacher on its own.

This is model2vec's method. Its token vectors before reduction are where training starts.
"""

import numpy as np
from model2vec import StaticModel
from model2vec.distill import distill
from numpy.typing import NDArray

from evals.train.teacher import teacher_path

DIMENSIONS = 256
"""384 dimensions gained 0.004 nDCG@5 and would not fit 10 MB with the whole vocabulary."""


def token_vectors() -> StaticModel:
    """Token vectors in the teacher's own 384 dimensions, unweighted."""
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
