"""Does a score of 0.7 mean right seven times in ten? Draws score against precision.

python -m evals.reliability --data FOLDER --out docs/images/reliability.png
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from evals import docs
from evals import report as reporting
from evals.calibrate import FOREIGN
from evals.rankers import Ours
from evals.sets import DEV, ToolSet, data_folder, load_set
from toolscout.index.static_model import BUNDLED_MODEL
from toolscout.ranking import calibration
from toolscout.ranking.ask import Ask
from toolscout.ranking.explain import explain
from toolscout.ranking.pipeline import decide

Floats = NDArray[np.float64]

NAMED = 0.9999
"""The score of a tool that the query names is 1; no fitted score comes so near."""

EDGES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, NAMED, 1.0)
"""Bins of the score, finer where the thresholds lie; the last is of named tools."""


def scored(sets: Sequence[ToolSet], model: str) -> tuple[Floats, Floats]:
    """Scores of all tools that hybrid selects for good and for hopeless queries.

    Returns:
        For good queries and for all, shape (matches, 2): the score, and 1 for a tool that is
        wanted.
    """
    ours = Ours("hybrid", model)
    catalogs = {s.name: ours.compile(s.tools) for s in sets}
    good: list[tuple[float, float]] = []
    hopeless: list[tuple[float, float]] = []
    for own in sets:
        for question in tqdm(own.questions, desc=own.name, unit="q", disable=None, leave=False):
            for name in (own.name, *FOREIGN[own.name]):
                decision = decide(catalogs[name], Ask(pattern=question.text), ours.embedder)
                matches = explain(decision)
                if name == own.name:
                    good += [(m.score, float(m.name in question.gold)) for m in matches]
                else:
                    hopeless += [(m.score, 0.0) for m in matches]
    return np.array(good), np.array(good + hopeless)


def bins(pairs: Floats) -> list[tuple[float, float, int]]:
    """Per bin the mean score, the precision and the count; empty bins are left out."""
    places = np.clip(np.digitize(pairs[:, 0], EDGES[1:-1]), 0, len(EDGES) - 2)
    found = []
    for place in range(len(EDGES) - 1):
        chosen = pairs[places == place]
        if len(chosen):
            found.append((float(chosen[:, 0].mean()), float(chosen[:, 1].mean()), len(chosen)))
    return found


def calibration_error(found: Sequence[tuple[float, float, int]]) -> float:
    """Mean distance of score and precision over bins, weighted by count."""
    total = sum(count for _, _, count in found)
    return sum(abs(score - precision) * count for score, precision, count in found) / total


def draw(curves: dict[str, list[tuple[float, float, int]]], out: Path) -> None:
    """Precision over score above, counts below."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (above, below) = plt.subplots(
        2, 1, figsize=(6, 6.5), sharex=True, height_ratios=(3, 1), layout="constrained"
    )
    above.plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=1, label="ideal")
    width = 0.018
    for number, (title, found) in enumerate(curves.items()):
        scores, precisions, counts = zip(*found, strict=True)
        fitted = [place for place, score in enumerate(scores) if score < NAMED]
        line = above.plot(scores[: len(fitted)], precisions[: len(fitted)], marker="o", label=title)
        # A named tool's score is a rule, so it is a mark beside the curve.
        rest = scores[len(fitted) :], precisions[len(fitted) :]
        above.plot(*rest, "x", color=line[0].get_color(), clip_on=False, zorder=3)
        shifted = [score + (number - 0.5) * width for score in scores]
        below.bar(shifted, counts, width=width, label=title)
    for threshold, name in ((calibration.WEAK, "weak"), (calibration.MATCH, "match")):
        above.axvline(threshold, color="0.75", linewidth=1)
        high = 0.93 if name == "weak" else 0.87
        above.text(threshold + 0.008, high, f"{name} from {threshold:g}", fontsize=8, color="0.4")
    above.set(ylabel="precision: share of selected tools that are wanted", ylim=(0, 1))
    below.set(yscale="log", ylabel="selected tools", xlabel="score", xlim=(0, 1))
    above.plot([], [], "x", color="0.3", label="named in the query")
    above.legend(loc="upper left", bbox_to_anchor=(0.02, 0.84))
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=110)


def main() -> int:
    """Draw and print; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m evals.reliability", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with toolsets/ (or TOOLSCOUT_DATA)")
    parser.add_argument("--model", default=str(BUNDLED_MODEL))
    parser.add_argument("--out", type=Path, default=Path("reliability.png"))
    parser.add_argument("--docs", type=Path, help="also write the table into its block here")
    parsed = parser.parse_args()
    folder = data_folder(parsed.data)
    if folder is None:
        print("skipped: no tool sets; name their folder with --data or TOOLSCOUT_DATA")
        return 0
    sets = [load_set(folder / "toolsets" / "dev" / name) for name in DEV]
    good, every = scored(sets, parsed.model)
    curves = {"Queries that have a tool": bins(good), "Hopeless queries too": bins(every)}
    draw(curves, parsed.out)
    text = "\n\n".join(_described(title, found) for title, found in curves.items())
    print(text)
    if parsed.docs:
        docs.write(parsed.docs, "reliability", _overview(curves))
    return 0


def _overview(curves: dict[str, list[tuple[float, float, int]]]) -> str:
    """Return the first curve as a table, and of the others the mean distance."""
    first, *others = curves.items()
    lines = (f"{title}: mean distance {calibration_error(one):.3f}." for title, one in others)
    return "\n\n".join([_described(*first), *lines])


def _described(title: str, found: Sequence[tuple[float, float, int]]) -> str:
    rows = [[f"{score:.3f}", f"{right:.3f}", f"{count:,}"] for score, right, count in found]
    header = ["mean score", "precision", "selected tools"]
    table = reporting.table(header, rows, markdown=True)
    return f"{title}, mean distance {calibration_error(found):.3f}:\n\n{table}"


if __name__ == "__main__":
    sys.exit(main())
