"""Is it honest? Outcomes of queries that have a tool, and of queries that have none.

Hopeless queries are real ones against catalogs of another domain (requests to a cloud vendor's
tools on catalogs of everyday services, and the reverse), and strings of letters. The two
`requests-*` sets are reported beside: their candidates share the domain of the request.

Nonsense is asked of lists of 50, 300 and 1,000 tools: random letters, pronounceable words that mean
nothing, and people's requests that a set of everyday tools has none for.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from tqdm import tqdm

from evals import report as reporting
from evals.calibrate import FOREIGN, gibberish, syllables
from evals.rankers import Answer, Ours, Ranker
from evals.run import limited, timed
from evals.sets import DEV, ToolSet, load_requests, load_set
from toolscout.contract.fields import RankerName
from toolscout.index.embedder import Embedder
from toolscout.index.tool_list import ToolList

RANKERS: tuple[RankerName, ...] = ("hybrid", "bm25", "semantic")

GIBBERISH = 100
"""Strings of letters per catalog."""

GIBBERISH_SEED = 2_026
"""Not the seed that the calibration is fitted with."""

NONSENSE, NONSENSE_SIZES = 200, (50, 300, 1_000)
"""Queries of each kind, and tools in the lists that they are asked of."""

OUTCOMES = ("match", "weak", "no_match")
GOOD, HOPELESS, BESIDE = "good", "hopeless", "beside"


def report(folder: Path, model: str, limit: int | None) -> tuple[str, Any]:
    """Return shares of each outcome as Markdown, hybrid set by set, and all of them as data."""
    sets = {name: load_set(folder / "toolsets" / "dev" / name) for name in DEV}
    embedder = Embedder(model)
    rows: list[list[str]] = []
    data: dict[str, Any] = {}
    for kind in RANKERS:
        groups = list(_groups(Ours(kind, embedder), sets, folder, limit))
        if kind == RANKERS[0]:
            hopeful = [one for one in groups if one[0] != HOPELESS]
            rows += [_row(kind, title, answers) for _, title, answers in hopeful]
        for group in (GOOD, HOPELESS):
            of_group = [each for one, _, answers in groups if one == group for each in answers]
            rows.append(_row(kind, f"**all {group}**", of_group))
        data[kind] = [
            {"group": group, "queries": title, "count": len(answers)} | shares(answers)
            for group, title, answers in groups
        ]
    data["nonsense"] = list(_nonsense(Ours("hybrid", embedder), folder, limit))
    header = ["ranker", "queries", "count", *OUTCOMES]
    nonsense = [[row["queries"], f"{row['tools']:,}", *_shown(row)] for row in data["nonsense"]]
    tables = (
        reporting.table(header, rows, markdown=True),
        "Nonsense, hybrid:",
        reporting.table(["queries", "tools", *OUTCOMES], nonsense, markdown=True),
    )
    return "\n\n".join(tables), data


def _nonsense(ranker: Ranker, folder: Path, limit: int | None) -> Iterator[dict[str, Any]]:
    """Yield what is said of questions that nobody asks, over lists of different lengths."""
    path = folder / "toolsets" / "dev" / "out-of-scope" / "out-of-scope.jsonl"
    kinds = {
        "random letters": gibberish(NONSENSE, GIBBERISH_SEED),
        "pronounceable words": syllables(NONSENSE, GIBBERISH_SEED),
    }
    if path.exists():
        lines = path.read_text("utf-8").splitlines()
        kinds["requests out of scope"] = [json.loads(line)["text"] for line in lines][:limit]
    for size in NONSENSE_SIZES:
        raw = (folder / "catalogs" / f"{size}.json").read_bytes()
        search = ranker(ToolList.decode(raw, size).tools)
        for kind, texts in kinds.items():
            outcomes = shares([timed(search, text)[0] for text in texts])
            yield {"queries": kind, "tools": size, "count": len(texts)} | outcomes


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


def _row(kind: str, title: str, answers: Sequence[Answer]) -> list[str]:
    return [kind, title, f"{len(answers):,}", *_shown(shares(answers))]


def _shown(found: Mapping[str, Any]) -> list[str]:
    return [f"{found[outcome]:.1%}" for outcome in OUTCOMES]
