"""Is it honest? Outcomes of queries that have a tool, and of queries that have none.

Hopeless queries are real ones against catalogs of another domain (requests to a cloud vendor's
tools on catalogs of everyday services, and the reverse), and strings of letters. The two
`requests-*` sets are reported beside: their candidates share the domain of the request.

Nonsense is asked of lists of 50, 300 and 1,000 tools: random letters, pronounceable words that mean
nothing, and people's requests that a set of everyday tools has none for.
"""

import json
from collections.abc import Iterator, Sequence
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
    """Shares of each outcome per kind of query, as Markdown tables and as data."""
    sets = {name: load_set(folder / "toolsets" / "dev" / name) for name in DEV}
    embedder = Embedder(model)
    parts: list[str] = []
    data: dict[str, Any] = {}
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
    text, data["nonsense"] = _nonsense(Ours("hybrid", embedder), folder, limit)
    return "\n\n".join([*parts, f"### nonsense, hybrid\n\n{text}"]), data


def _nonsense(ranker: Ranker, folder: Path, limit: int | None) -> tuple[str, list[dict[str, Any]]]:
    """Return what is said of questions that nobody asks, over lists of different lengths."""
    path = folder / "toolsets" / "dev" / "out-of-scope" / "out-of-scope.jsonl"
    kinds = {
        "random letters": gibberish(NONSENSE, GIBBERISH_SEED),
        "pronounceable words": syllables(NONSENSE, GIBBERISH_SEED),
    }
    if path.exists():
        lines = path.read_text("utf-8").splitlines()
        kinds["requests out of scope"] = [json.loads(line)["text"] for line in lines][:limit]
    rows, data = [], []
    for size in NONSENSE_SIZES:
        raw = (folder / "catalogs" / f"{size}.json").read_bytes()
        search = ranker(ToolList.decode(raw, size).tools)
        for kind, texts in kinds.items():
            answers = [timed(search, text)[0] for text in texts]
            found = shares(answers)
            cells = [f"{found[o]:.1%}" for o in OUTCOMES]
            rows.append([kind, f"{size:,}", f"{len(texts):,}", *cells])
            data.append({"queries": kind, "tools": size, "count": len(texts)} | found)
    return reporting.table(["queries", "tools", "count", *OUTCOMES], rows, markdown=True), data


def overview(text: str) -> str:
    """Return the tables of the documentation: hybrid set by set, the others in total."""
    *rankers, (_, nonsense) = (
        part.strip().split("\n\n", 1) for part in text.removeprefix("### ").split("### ")
    )
    rows = []
    for kind, table in rankers:
        for title, group, *shown in reporting.cells(table)[1:]:
            is_total = title.startswith("**")
            if is_total or (kind == RANKERS[0] and group != HOPELESS):
                rows.append([kind, title, *shown[:-1]])
    table = reporting.table(["ranker", "queries", "count", *OUTCOMES], rows, markdown=True)
    nonsense = reporting.columns(nonsense, (0, 1, 3, 4, 5))
    return f"{table}\n\nNonsense, hybrid:\n\n{nonsense}"


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
