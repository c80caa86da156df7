"""Fit what a score means: the chance that a tool is wanted, from the evidence for it.

    python -m evals.calibrate --data FOLDER [--model PATH]

Good queries are those of the development sets against their own catalogs, and keyword queries
made from the names of their tools. Hopeless ones are queries about a cloud vendor's tools against
catalogs of everyday services, the reverse, and strings of letters. Prints coefficients
for `ranking/calibration.py`, and what each threshold would do; takes them over nowhere by itself.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from evals.sets import DEV, Question, ToolSet, data_folder, load_set
from toolscout.contract.fields import RankerName
from toolscout.index.cache import CatalogCache
from toolscout.index.catalog import Catalog
from toolscout.index.compile import Compiler
from toolscout.index.embedder import Embedder
from toolscout.index.static_model import BUNDLED_MODEL
from toolscout.index.tool_list import ToolList
from toolscout.ranking.ask import Ask
from toolscout.ranking.calibration import MASS_LIMIT
from toolscout.ranking.choose import find_best
from toolscout.ranking.judge import JUDGED, find_evidence
from toolscout.ranking.pipeline import rank
from toolscout.text.tokens import speak_name

QUESTIONS_PER_SET = 250
FOREIGN = {
    "azure-mcp-2026": ("nestful", "apibank"),
    "bfcl-live": ("azure-mcp-2026",),
    "nestful": ("azure-mcp-2026",),
    "apibank": ("azure-mcp-2026",),
}
"""Catalogs of another domain; the other three sets share theirs (travel, calendars, music)."""

SHORT = 120
"""Keyword queries per set, beside the set's own."""

KINDS: tuple[RankerName, ...] = ("hybrid", "bm25", "semantic")
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sample:
    """One query's best tools: evidence (tools, 3), whether each is wanted, and whether any is."""

    evidence: Floats
    wanted: Floats
    good: bool


def gibberish(count: int, seed: int = 7) -> list[str]:
    """Strings that look like words and are none."""
    random = Random(seed)
    letters = "bcdfghjklmnpqrstvwxz" * 3 + "aeiouy"
    return [
        " ".join(
            "".join(random.choices(letters, k=random.randint(4, 9)))
            for _ in range(random.randint(1, 4))
        )
        for _ in range(count)
    ]


def syllables(count: int, seed: int = 7) -> list[str]:
    """Words that can be pronounced and mean nothing: `dolek bamu`."""
    random = Random(seed)

    def word() -> str:
        parts = (random.choice("bdfgklmnprstvz") + random.choice("aeiou") for _ in range(2))
        return f"{''.join(parts)}{random.choice(('', *'klnrst'))}"

    return [" ".join(word() for _ in range(random.randint(1, 3))) for _ in range(count)]


def keywords(name: str, random: Random) -> Question:
    """Return a search as models write them: two or three words of the wanted tool's name."""
    spoken = speak_name(name).split()
    kept = sorted(random.sample(range(len(spoken)), min(len(spoken), random.randint(2, 3))))
    return Question(name, " ".join(spoken[i] for i in kept).lower(), frozenset({name}))


def samples(
    sets: Sequence[ToolSet], embedder: Embedder, ranker: RankerName
) -> tuple[list[Sample], list[Sample]]:
    """Good queries and hopeless ones, with the evidence for their best tools."""
    compiler = Compiler(embedder)
    store = CatalogCache().tools("evals")
    compiled = {s.name: compiler.compile(ToolList.of(s.tools), store) for s in sets}
    random = Random(11)
    good, hopeless = [], []
    for own in sets:
        asked = random.sample(own.questions, min(QUESTIONS_PER_SET, len(own.questions)))
        asked += [keywords(tool.name, random) for tool in random.choices(own.tools, k=SHORT)]
        for question in asked:
            catalog = compiled[own.name]
            good.append(_sample(catalog, question.text, question.gold, embedder, ranker))
            for other in FOREIGN[own.name]:
                catalog = compiled[other]
                hopeless.append(_sample(catalog, question.text, frozenset(), embedder, ranker))
        hopeless.extend(
            _sample(compiled[own.name], text, frozenset(), embedder, ranker)
            for text in gibberish(QUESTIONS_PER_SET // 5)
        )
    return good, hopeless


def _sample(
    catalog: Catalog, text: str, gold: frozenset[str], embedder: Embedder, ranker: RankerName
) -> Sample:
    ranking = rank(catalog, Ask(pattern=text, ranker=ranker), embedder)
    rows = find_best(ranking.scores, JUDGED)
    found = [find_evidence(ranking, row) for row in rows]
    values = [
        (e.coverage or 0.0, min(e.mass or 0.0, MASS_LIMIT), max(e.cosine or 0.0, 0.0))
        for e in found
    ]
    wanted = [float(catalog.names[row] in gold) for row in rows]
    return Sample(np.array(values).reshape(-1, 3), np.array(wanted), bool(gold))


def fit(features: Floats, labels: Floats, ridge: float = 1.0) -> Floats:
    """Logistic regression by Newton's method; returns bias and weights."""
    x = np.column_stack([np.ones(len(features)), features])
    weights = np.zeros(x.shape[1])
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(-x @ weights))
        gradient = x.T @ (p - labels) + ridge * np.r_[0.0, weights[1:]]
        hessian = (x * (p * (1 - p))[:, None]).T @ x + ridge * np.eye(x.shape[1])
        weights -= np.linalg.solve(hessian, gradient)
    return weights


def best_chances(found: Sequence[Sample], weights: Floats) -> Floats:
    """Per query the highest chance among its best tools."""
    return np.array(
        [
            float((1 / (1 + np.exp(-(weights[0] + s.evidence @ weights[1:])))).max())
            if len(s.evidence)
            else 0.0
            for s in found
        ]
    )


def main() -> int:
    """Fit all kinds; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m evals.calibrate", description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--model", default=str(BUNDLED_MODEL))
    parsed = parser.parse_args()
    folder = data_folder(parsed.data)
    if folder is None:
        print("skipped: no tool sets; name their folder with --data or TOOLSCOUT_DATA")
        return 0
    sets = [load_set(folder / "toolsets" / "dev" / name) for name in DEV]
    embedder = Embedder(parsed.model)
    for kind in KINDS:
        good, hopeless = samples(sets, embedder, kind)
        features = np.concatenate([s.evidence for s in good + hopeless])
        labels = np.concatenate([s.wanted for s in good + hopeless])
        used = {"hybrid": [0, 1, 2], "bm25": [0, 1], "semantic": [2]}[kind]
        fitted = fit(features[:, used], labels)
        weights = np.zeros(4)
        weights[[0, *(1 + i for i in used)]] = fitted
        print(f"{kind}: bias, coverage, mass, cosine = {np.round(weights, 3).tolist()}")
        lost, caught = best_chances(good, weights), best_chances(hopeless, weights)
        for threshold in (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4):
            wrong, right = (lost < threshold).mean(), (caught < threshold).mean()
            print(f"  below {threshold:.2f}: {wrong:6.1%} of good, {right:6.1%} of hopeless")
    return 0


if __name__ == "__main__":
    sys.exit(main())
