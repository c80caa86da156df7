"""Load a model2vec model: the bundled one, one in a folder, or one of the hub at a commit."""

from pathlib import Path

from model2vec import StaticModel
from safetensors.numpy import load_file
from tokenizers import Tokenizer

BUNDLED_MODEL = Path(__file__).parent.parent / "model"


def load(source: str | Path) -> StaticModel:
    """Load a model from a folder, or from the hub as OWNER/NAME@COMMIT."""
    if Path(source) == BUNDLED_MODEL:
        return _bundled()
    return StaticModel.from_pretrained(_folder(source), force_download=False)


def _bundled() -> StaticModel:
    """Return the bundled model; `from_pretrained` imports the hub's client, for 0.2 s and 9 MB."""
    held = load_file(BUNDLED_MODEL / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(BUNDLED_MODEL / "tokenizer.json"))
    return StaticModel(held["embeddings"], tokenizer)


def _folder(source: str | Path) -> str | Path:
    """Where a model lies; one of the hub is downloaded once, as it was at its commit."""
    if Path(source).exists():
        return source
    from huggingface_hub import snapshot_download

    name, _, commit = str(source).partition("@")
    return snapshot_download(name, revision=commit, allow_patterns=["*.json", "*.safetensors"])
