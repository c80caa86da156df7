"""Is it honest? Outcomes of queries that have a tool, and of queries that have none.

Hopeless queries are real ones against catalogs of another domain (requests to a cloud vendor's
tools on catalogs of everyday services, and the reverse), and strings of letters. The two
`requests-*` sets are reported beside: their candidates share the domain of the request.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from tqdm import tqdm

from evals import report as reporting
from evals.calibrate import FOREIGN, gibberish
from evals.rankers import Answer, Ours, Ranker
from evals.run import limited, timed
from evals.sets import DEV, ToolSet, load_requests, load_set
from toolscout.contract.fields import RankerName
from toolscout.index.vectors import Embedder

RANKERS: tuple[RankerName, ...] = ("hybrid", "bm25", "semantic")

GIBBERISH = 100
"""Strings of letters per catalog."""

GIBBERISH_SEED = 2_026
"""Not the seed that the calibration is fitted with."""

OUTCOMES = ("match", "weak", "no_match")
GOOD, HOPELESS, BESIDE = "good", "hopeless", "beside"


def report(folder: Path, model: str, limit: int | None) -> tuple[str, Any]:
    """Shares of each outcome per kind of query, as Markdown tables and as data."""
    sets = {name: load_set(folder / "toolsets" / "dev" / name) for name in DEV}
    embedder = Embedder(model)
    parts, data = [], {}
    for kind in RANKERS:
        groups = list(_groups(Ours(kind, embedder), sets, folder, limit))
        rows = [_row(group, title, answers) for group, title, answers in groups]
        for group in (GOOD, HOPELESS):
            found = [a for g, _, answers in groups if g == group for a in answers]
            rows.append(_row(group, f"**all {group}**", found))
        header = ["queries", "kind", "count", *OUTCOMES, "weak or no_match"]
        parts.append(f"### {kind}\n\n" + reporting.table(header, rows, markdown=True))
        data[kind] = [
            {"group": group, "queries": title, "count": len(answers)} | shares(answers)
            for group, title, answers in groups
        ]
    return "\n\n".join(parts), data


def shares(answers: Sequence[Answer]) -> dict[str, float]:
    """Return the share of each outcome."""
    return {o: fmean(answer.outcome == o for answer in answers) for o in OUTCOMES}


def _groups(
    ranker: Ranker, sets: dict[str, ToolSet], folder: Path, limit: int | None
) -> Iterator[tuple[str, str, list[Answer]]]:
    searches = {name: ranker(asked.tools) for name, asked in sets.items()}

    def answers(texts: Sequence[str], catalog: str) -> list[Answer]:
        return [timed(searches[catalog], text)[0] for text in texts]

    texts = {name: [q.text for q in limited(s.questions, limit)] for name, s in sets.items()}
    for name in tqdm(sets, desc="good", unit="set", disable=None, leave=False):
        yield GOOD, name, answers(texts[name], name)
    pairs = [(name, other) for name, others in FOREIGN.items() for other in others]
    for name, other in tqdm(pairs, desc="hopeless", unit="pair", disable=None, leave=False):
        yield HOPELESS, f"{name} on {other}", answers(texts[name], other)
    for name in sets:
        letters = gibberish(GIBBERISH, GIBBERISH_SEED)
        yield HOPELESS, f"gibberish on {name}", answers(letters, name)
    dev = folder / "toolsets" / "dev"
    if (dev / "functionchat-ko").is_dir():
        korean = load_set(dev / "functionchat-ko")
        search = ranker(korean.tools)
        found = [timed(search, q.text)[0] for q in limited(korean.questions, limit)]
        yield BESIDE, "functionchat-ko (has a tool)", found
    for name, note in (("requests-bfcl", "has a tool"), ("requests-bfcl-irrelevance", "has none")):
        if (dev / name).is_dir():
            requests = limited(load_requests(dev / name), limit)
            found = [timed(ranker(r.tools), r.questions[0].text)[0] for r in requests]
            yield BESIDE, f"{name} ({note})", found


def _row(group: str, title: str, answers: Sequence[Answer]) -> list[str]:
    found = shares(answers)
    cells = [f"{found[o]:.1%}" for o in OUTCOMES] + [f"{found['weak'] + found['no_match']:.1%}"]
    return [title, group, f"{len(answers):,}", *cells]
