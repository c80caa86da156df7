"""Meaning: vectors as model2vec makes them, compared exactly."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model2vec import StaticModel

from tests.support import ENGINE, select
from toolscout.index.static_model import BUNDLED_MODEL
from toolscout.index.vector_index import (
    QUANTISED_ABOVE,
    QuantisedIndex,
    VectorIndex,
    index_vectors,
    measure_tool,
)

REFERENCE = StaticModel.from_pretrained(BUNDLED_MODEL)
EMBEDDER = ENGINE.embedder

words = st.one_of(
    st.sampled_from(["read", "write", "file", "weather", "city", "bucket", "s3", "zwieback"]),
    st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12),
)


def reference(text: str) -> np.ndarray:
    vector = REFERENCE.encode(text)
    norm = np.linalg.norm(vector)
    return vector / norm if norm else vector


@given(st.lists(words, min_size=1, max_size=20))
def test_vectors_equal_those_of_model2vec(found: list[str]):
    assert EMBEDDER.encode(found) == pytest.approx(reference(" ".join(found)), abs=1e-5)


@pytest.mark.parametrize("text", ["file", "read a text file from disk", "the weather in a city"])
def test_vectors_have_unit_length(text: str):
    vector = EMBEDDER.encode(text.split())
    assert vector.shape == (EMBEDDER.dimension,)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("found", [[], [""], ["𐎀𐎁𐎂"]])
def test_texts_without_a_known_token_have_the_zero_vector(found: list[str]):
    assert not EMBEDDER.encode(found).any()


def test_identifiers_are_embedded_as_their_words():
    assert EMBEDDER.encode(["readFile"]) == pytest.approx(EMBEDDER.encode(["read", "File"]))


def test_a_zero_vector_has_no_opinion():
    tools = [{"name": "weather_map", "description": "Weather of a city"}, {"name": "𐎀"}]
    assert select(tools, "𐎁𐎂", ranker="semantic").names == []
    chosen = select(tools, "weather of a city", ranker="semantic")
    assert chosen.names == ["weather_map"]
    assert select(tools, "weather 𐎁𐎂").names[0] == "weather_map"


def test_related_words_are_nearer_than_unrelated_ones():
    forecast, weather, invoice = (EMBEDDER.encode([w]) for w in ("forecast", "weather", "invoice"))
    assert forecast @ weather > forecast @ invoice


def test_quantised_vectors_give_nearly_the_same_cosines():
    texts = ["read a file", "send an email", "weather forecast", "", "list all customers"] * 500
    vectors = np.array([EMBEDDER.encode(text.split()) for text in texts])
    query = EMBEDDER.query(["read", "the", "file"], [(["read"], 0.8), (["send", "it"], 0.5)])
    assert query is not None
    exact, quantised = VectorIndex(vectors), QuantisedIndex.of(vectors)
    assert quantised.nbytes < exact.nbytes / 3.9
    sent: VectorIndex = pickle.loads(pickle.dumps(quantised))
    for ours, theirs in zip(sent.similarities(query), exact.similarities(query), strict=True):
        assert np.abs(ours - theirs).max() < 0.004
        assert ours[3] == 0


def test_only_many_vectors_are_quantised():
    few = np.zeros((QUANTISED_ABOVE, 2), np.float32)
    many = np.zeros((QUANTISED_ABOVE + 1, 2), np.float32)
    assert type(index_vectors(few)) is VectorIndex
    assert type(index_vectors(many)) is QuantisedIndex
    for vectors in (few, many):
        made = index_vectors(vectors)
        assert made.nbytes == len(vectors) * measure_tool(len(vectors), 2)


def test_an_index_tells_its_size():
    empty = VectorIndex(np.empty((0, EMBEDDER.dimension), np.float32))
    assert (empty.size, empty.nbytes) == (0, 0)
    one = VectorIndex(EMBEDDER.encode(["file"])[None])
    assert (one.size, one.nbytes) == (1, 4 * EMBEDDER.dimension)
