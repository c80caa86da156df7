"""Load a model2vec model: the bundled one, one in a folder, or one of the hub at a commit."""

from pathlib import Path
from typing import NamedTuple

from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

BUNDLED_MODEL = Path(__file__).parent.parent / "model"

UNKNOWN = "[UNK]"
"""The token for what the bundled model does not know."""


class Model(NamedTuple):
    """What is used of a model2vec model."""

    embedding: NDArray
    """A row for each token, or for each that tokens are mapped to."""
    tokenizer: Tokenizer
    unk_token_id: int | None
    token_mapping: NDArray | None = None
    weights: NDArray | None = None
    """Of each token."""


def load(source: str | Path) -> Model:
    """Load a model from a folder, or from the hub as OWNER/NAME@COMMIT.

    The bundled one is read without model2vec, which imports joblib and more, for 0.1 s.
    """
    if Path(source) == BUNDLED_MODEL:
        tokenizer = Tokenizer.from_file(str(BUNDLED_MODEL / "tokenizer.json"))
        rows = load_file(BUNDLED_MODEL / "model.safetensors")["embeddings"]
        return Model(rows, tokenizer, tokenizer.token_to_id(UNKNOWN))
    from model2vec import StaticModel

    model = StaticModel.from_pretrained(_find_folder(source), force_download=False)
    about = model.unk_token_id, model.token_mapping, model.weights
    return Model(model.embedding, model.tokenizer, *about)


def _find_folder(source: str | Path) -> str | Path:
    """Where a model lies; one of the hub is downloaded once, as it was at its commit."""
    if Path(source).exists():
        return source
    from huggingface_hub import snapshot_download

    name, _, commit = str(source).partition("@")
    return snapshot_download(name, revision=commit, allow_patterns=["*.json", "*.safetensors"])
