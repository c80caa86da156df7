"""Write the model: int8 rows in model2vec's own format, swapped in whole.

The folder loads with `model2vec.StaticModel.from_pretrained(path, force_download=False)`, or with
safetensors, tokenizers and numpy alone: rows of the text's tokens, their mean, unit length.
"""

import shutil
import tempfile
from pathlib import Path

import numpy as np
from model2vec import StaticModel
from numpy.typing import NDArray
from tokenizers import Tokenizer

from evals.train.student import DIMENSIONS
from evals.train.teacher import TEACHER_NAME

SIZE_LIMIT = 10_000_000
"""Bytes of the whole folder: it travels inside the package."""

INT8_LARGEST = 127
CLIPPED = 1e-5
"""Share of values beyond the int8 range: one outlier would cost all others their precision."""


def quantise(rows: NDArray[np.float32]) -> NDArray[np.int8]:
    """Rows on one common scale, which the final normalisation cancels."""
    largest = float(np.quantile(np.abs(rows), 1 - CLIPPED))
    scaled = np.rint(rows / largest * INT8_LARGEST)
    return np.asarray(np.clip(scaled, -INT8_LARGEST, INT8_LARGEST), dtype=np.int8)


def build(rows: NDArray[np.float32], tokenizer: Tokenizer) -> StaticModel:
    """Return the finished model in memory."""
    return StaticModel(
        quantise(rows),
        tokenizer,
        config={
            "model_type": "model2vec",
            "architectures": ["StaticModel"],
            "tokenizer_name": TEACHER_NAME,
            "hidden_dim": DIMENSIONS,
            "seq_length": 1000000,
        },
        normalize=True,
    )


def save(model: StaticModel, out: Path) -> int:
    """Write the model to `out` beside its card; return its size in bytes.

    Raises:
        ValueError: the folder would be larger than SIZE_LIMIT; `out` is left as it was.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".model-") as scratch:
        new, old = Path(scratch) / "new", Path(scratch) / "old"
        model.save_pretrained(new)
        (new / "README.md").unlink(missing_ok=True)  # the library's card
        for path in new.iterdir():
            path.chmod(0o644)
        size = sum(path.stat().st_size for path in new.iterdir())
        if size > SIZE_LIMIT:
            raise ValueError(f"The model has {size:,} bytes, more than {SIZE_LIMIT:,}.")
        StaticModel.from_pretrained(new, force_download=False)
        if out.exists():
            for folder in filter(Path.is_dir, out.iterdir()):  # the dictionary of other languages
                shutil.copytree(folder, new / folder.name)
            if (out / "README.md").exists():
                shutil.copy(out / "README.md", new)
            shutil.move(out, old)
        shutil.move(new, out)
    return size
