"""Two opinions become one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import select
from toolscout.ranking import fuse
from toolscout.ranking.fuse import RRF_DEPTH, RRF_K, fuse_ranks


def weighted_sum(lexical: np.ndarray, cosine: np.ndarray) -> np.ndarray:
    """Both sides count alike."""
    return fuse.sum_weighted(lexical, cosine, 0.5)


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_constants_of_reciprocal_rank_fusion():
    assert RRF_K == 60
    assert RRF_DEPTH >= 30


def test_reciprocal_rank_is_the_published_sum():
    fused = fuse_ranks(floats(3, 2, 1), floats(0.1, 0.3, 0.2), 3)
    expected = [1 / 61 + 1 / 63, 1 / 62 + 1 / 61, 1 / 63 + 1 / 62]
    assert fused.tolist() == pytest.approx(expected, rel=1e-6)


def test_what_has_no_score_has_no_rank():
    fused = fuse_ranks(floats(3, 0, 0), floats(0, 0.5, 0), 3)
    assert fused.tolist() == pytest.approx([1 / 61, 1 / 61, 0], rel=1e-6)


def test_only_ranks_within_the_depth_count():
    scores = np.arange(200, 0, -1).astype(np.float32)
    nothing = np.zeros(200, np.float32)
    assert np.count_nonzero(fuse_ranks(scores, nothing, 5)) == RRF_DEPTH
    assert np.count_nonzero(fuse_ranks(scores, nothing, 100)) == 100


@given(st.lists(st.tuples(st.floats(0, 50, width=32), st.floats(-1, 1, width=32)), min_size=1))
def test_both_fusions_are_finite_and_whole(pairs: list[tuple[float, float]]):
    lexical, cosine = (floats(*side) for side in zip(*pairs, strict=True))
    for fused in (weighted_sum(lexical, cosine), fuse_ranks(lexical, cosine, 5)):
        assert fused.shape == lexical.shape
        assert np.isfinite(fused).all()


def test_the_best_on_both_sides_is_the_best_of_all():
    assert weighted_sum(floats(1, 5, 2), floats(0.1, 0.9, 0.2)).argmax() == 1


def test_without_a_word_hit_meaning_decides():
    assert weighted_sum(floats(0, 0, 0), floats(0.1, 0.2, 0.6)).argmax() == 2


def test_without_a_meaning_words_decide():
    assert weighted_sum(floats(1, 3, 2), floats(0, 0, 0)).argsort().tolist() == [0, 2, 1]


def test_nothing_on_either_side_is_nothing():
    assert not weighted_sum(floats(0, 0), floats(0, 0)).any()
    assert weighted_sum(floats(), floats()).shape == (0,)
    assert fuse_ranks(floats(), floats(), 5).shape == (0,)


def test_a_hair_of_meaning_does_not_outweigh_a_word():
    tools = [{"name": f"two_{n}_spin", "description": f"Spin two number {n}"} for n in range(3)]
    assert select(tools, "number 1 of the two spins").names[0] == "two_1_spin"
