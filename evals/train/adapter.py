"""Train the encoder's adapter: `python -m evals.train.adapter --data PATH`.

The sets of role train are encoded once, on one thread in some ten minutes; the adapter itself then
takes seconds. Nothing is chosen or measured on other sets.
"""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tqdm import tqdm

from evals.train.data import DATA_VARIABLE, ToolSet, data_root, load_set
from toolscout.contract.tools import Tool
from toolscout.index.encoder import ADAPTER, DIMENSION, SentenceEncoder, tool_text

Matrix = NDArray[np.float32]

SETS = (
    "toollinkos",
    "metatool-multi",
    "metatool-single-full",
    "sealtools-full",
    "toolbench-rapidapi",
)
"""Gorilla's queries are left out: they have one gold among interchangeable models."""

QUERIES = 1_200
"""Queries of one set that are encoded: one set has 20,000 for 199 tools."""

RANK, STEPS, BATCH, NEGATIVES = 64, 100, 128, 512
LEARNING_RATE, TEMPERATURE, START = 1e-3, 0.05, 0.05
SEED = 1


@dataclass(frozen=True)
class Lessons:
    """The vectors of one set, and which tools each query wants."""

    tools: torch.Tensor
    queries: torch.Tensor
    golds: Sequence[Sequence[int]]


def main() -> None:
    """Parse the command line, train, and write the adapter."""
    parser = argparse.ArgumentParser(prog="python -m evals.train.adapter", description=__doc__)
    parser.add_argument("--data", help=f"folder of toolsets/ (or {DATA_VARIABLE})")
    parser.add_argument("--out", type=Path, default=ADAPTER, help="file of the adapter")
    parser.add_argument("--vectors", type=Path, help="folder that keeps the encoded sets")
    options = parser.parse_args()
    root = data_root(options.data)
    torch.set_num_threads(1)
    rng = np.random.default_rng(SEED)
    encoder = SentenceEncoder()
    lessons = [_lessons(load_set(root, "train", name), encoder, options.vectors) for name in SETS]
    parts, loss = train(lessons, rng)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    save_file(parts, options.out)
    print(f"{options.out}: {options.out.stat().st_size:,} bytes, loss {loss:.3f}")


def train(lessons: Sequence[Lessons], rng: Generator) -> tuple[dict[str, Matrix], float]:
    """InfoNCE on judged queries, one set after the other; returns the parts and the last loss."""
    start = torch.Generator().manual_seed(SEED)
    downs = [torch.randn(DIMENSION, RANK, generator=start) * START for _ in range(2)]
    query_down, tool_down = map(torch.nn.Parameter, downs)
    query_up, tool_up = (torch.nn.Parameter(torch.zeros(RANK, DIMENSION)) for _ in range(2))
    weights = [query_down, query_up, tool_down, tool_up]
    optimiser = torch.optim.AdamW(weights, lr=LEARNING_RATE, weight_decay=0.0)
    loss = torch.zeros(())
    for step in range(STEPS):
        lesson = lessons[step % len(lessons)]
        asked = rng.choice(len(lesson.queries), min(BATCH, len(lesson.queries)), replace=False)
        wanted = np.array([rng.choice(lesson.golds[query]) for query in asked])
        others = rng.choice(len(lesson.tools), min(NEGATIVES, len(lesson.tools)), replace=False)
        shown = np.unique(np.concatenate((wanted, others)))
        queries = _moved(lesson.queries[asked], query_down, query_up)
        tools = _moved(lesson.tools[shown], tool_down, tool_up)
        cosines = queries @ tools.T / TEMPERATURE
        cosines = cosines.masked_fill(_also_right(lesson, asked, wanted, shown), -1e9)
        target = torch.from_numpy(np.searchsorted(shown, wanted))
        loss = torch.nn.functional.cross_entropy(cosines, target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    names = ("query_down", "query_up", "tool_down", "tool_up")
    halves = (weight.detach().numpy().astype(np.float16) for weight in weights)
    return dict(zip(names, halves, strict=True)), float(loss)


def _moved(vectors: torch.Tensor, down: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """Return what `toolscout.index.encoder.Adapter` does."""
    return torch.nn.functional.normalize(vectors + torch.tanh(vectors @ down) @ up, dim=1)


def _also_right(
    lesson: Lessons, asked: NDArray[np.int64], wanted: NDArray[np.int64], shown: NDArray[np.int64]
) -> torch.Tensor:
    """Which shown tools are right for a query beside the one that it should find."""
    rows = [
        np.isin(shown, lesson.golds[query]) & (shown != tool)
        for query, tool in zip(asked, wanted, strict=True)
    ]
    return torch.from_numpy(np.array(rows))


def _lessons(found: ToolSet, encoder: SentenceEncoder, folder: Path | None) -> Lessons:
    rng = np.random.default_rng(SEED)
    chosen = rng.permutation(len(found.queries))[:QUERIES]
    kept = None if folder is None else folder / f"{found.name}.npz"
    if kept is not None and kept.is_file():
        held = np.load(kept)
        tools, queries = held["tools"], held["queries"]
    else:
        texts = [tool_text(Tool(tool.name, tool.description or None)) for tool in found.tools]
        asked = [found.queries[i] for i in chosen]
        tools = np.stack([encoder.tool(text) for text in _shown(texts, found.name)])
        queries = np.stack([encoder.query(query) for query in _shown(asked, found.name)])
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            np.savez(kept, tools=tools, queries=queries)
    golds = [found.golds[i] for i in chosen]
    return Lessons(torch.from_numpy(tools), torch.from_numpy(queries), golds)


def _shown(texts: list[str], name: str) -> Iterable[str]:
    bar: Iterable[str] = tqdm(texts, desc=name, disable=None, leave=False)
    return bar


if __name__ == "__main__":
    main()
