"""The sets of the board: what is asked, over which tools, and what each is good for."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from evals.sets import DEV, Question, ToolSet, load_requests, load_set
from toolscout.contract.tools import Tool

OWN = "own"
OWN_QUESTIONS = Path(__file__).parent / "own.csv"
ROOT = Path(__file__).parents[2]
OWN_TOOLS = ROOT / "service/toolscout/playground/static/platform.json"

CHOSEN = (
    *DEV,
    *("asked-mcp", "asked-languages", "functionchat-ko", "zh-functions"),
    *("requests-bfcl", "requests-bfcl-irrelevance"),
)
"""Sets on which settings of Toolscout were chosen."""

SIZES = (100, 300, 1_000, 3_000, 10_000)
CROWD = "pooled-dev"
"""The set whose tools make catalogs of any size around the same questions."""

NAMES = (OWN, "mcpproxy", *CHOSEN, *(f"{CROWD}@{size}" for size in SIZES))
"""The sets of a whole run."""

CROWDED_QUESTIONS = 80
SEED = 11


@dataclass(frozen=True, slots=True)
class Asked:
    """A set as it is measured; `own_tools` holds the tools of questions that bring theirs."""

    set: ToolSet
    impossible: tuple[str, ...] = ()
    own_tools: dict[str, tuple[Tool, ...]] = field(default_factory=dict)


def is_crowd(name: str) -> bool:
    """Return whether a set is one of the sizes of the same questions."""
    return name.startswith(f"{CROWD}@")


def note(name: str) -> str:
    """Return what a reader must know of Toolscout's rows on a set; empty if nothing."""
    if name in CHOSEN:
        return "chosen on this set"
    if name.startswith(CROWD):
        return "chosen on sets in this pool; the model was trained on tools of it"
    return "own tools and questions" if name == OWN else ""


def load(name: str, folder: Path | None) -> Asked:
    """Read a set: ours, one of the data folder, `pooled-dev@SIZE`, or the folder of a path.

    Raises:
        FileNotFoundError: there is no such set.
    """
    if name == OWN:
        return _files(OWN, OWN_TOOLS, OWN_QUESTIONS)
    path = Path(name)
    if not path.is_dir() and folder:
        plain, _, size = name.partition("@")
        path = folder / ("board" if plain == "mcpproxy" else "toolsets/dev") / plain
        if size:
            return Asked(_crowd(load_set(path), int(size)))
    if (path / "retrieval_golden_v1.json").exists():
        return Asked(_graded(path))
    if (path / "requests.jsonl").exists():
        return _requests(path)
    if (path / "corpus.jsonl").exists():
        return Asked(load_set(path), _impossible(path.name, folder))
    questions = next((p for p in sorted(path.glob("questions.*"))), None)
    if questions is None:
        raise FileNotFoundError(name)
    return _files(path.name, path / "tools.json", questions)


def _files(name: str, tools: Path, questions: Path) -> Asked:
    """Read files as `toolscout evaluate` does."""
    from toolscout.commands.evaluation.questions import read_questions
    from toolscout.files.reading import read_file

    found = tuple(read_file(tools))
    asked = read_questions(questions.read_bytes(), str(questions), {tool.name for tool in found})
    answerable = tuple(Question(q.query, q.query, frozenset(q.tools)) for q in asked if q.tools)
    return Asked(ToolSet(name, found, answerable), tuple(q.query for q in asked if not q.tools))


def _requests(path: Path) -> Asked:
    """Read requests that bring their own few tools; a request without a fitting one is hopeless."""
    requests = load_requests(path)
    own = {each.questions[0].text: each.tools for each in requests}
    tools = {tool.name: tool for each in requests for tool in each.tools}
    questions = [each.questions[0] for each in requests]
    answerable = tuple(question for question in questions if question.gold)
    hopeless = tuple(question.text for question in questions if not question.gold)
    return Asked(ToolSet(path.name, tuple(tools.values()), answerable), hopeless, own)


def _impossible(name: str, folder: Path | None) -> tuple[str, ...]:
    """Return real questions of another domain, where one is known that no tool answers."""
    from evals.calibrate import FOREIGN

    if folder is None:
        return ()
    others = [other for other, on in FOREIGN.items() if name in on]
    sets = [load_set(folder / "toolsets/dev" / other) for other in others]
    return tuple(q.text for s in sets for q in s.questions)


def _crowd(pool: ToolSet, size: int) -> ToolSet:
    """Return the same questions and their tools at every size, among ever more others."""
    random = Random(SEED)
    questions: list[Question] = []
    wanted: dict[str, None] = {}
    for question in random.sample(pool.questions, len(pool.questions)):
        with_it = wanted | dict.fromkeys(sorted(question.gold))
        if len(questions) < CROWDED_QUESTIONS and len(with_it) <= SIZES[0]:
            questions.append(question)
            wanted = with_it
    others = [tool for tool in pool.tools if tool.name not in wanted]
    crowd = random.sample(others, max(0, size - len(wanted)))
    chosen = wanted.keys() | {tool.name for tool in crowd}
    tools = tuple(tool for tool in pool.tools if tool.name in chosen)
    return ToolSet(f"{pool.name}@{size}", tools, tuple(questions))


def _graded(path: Path) -> ToolSet:
    """Read the published gate of mcpproxy-go; every tool with a grade above 0 is wanted."""
    entries = json.loads((path / "corpus_v1.tools.json").read_text("utf-8"))["tools"]
    asked = json.loads((path / "retrieval_golden_v1.json").read_text("utf-8"))["queries"]
    names = {entry["tool_id"]: entry["tool"] for entry in entries}
    tools = tuple(Tool(e["tool"], e["description"], msgspec.Raw(b"{}")) for e in entries)
    gold = {
        q["id"]: frozenset(names[e["tool_id"]] for e in q["labels"] if e["relevance"] > 0)
        for q in asked
    }
    questions = tuple(Question(q["id"], q["query"], gold[q["id"]]) for q in asked)
    return ToolSet(path.name, tools, questions)


def published(folder: Path | None) -> dict[str, Any]:
    """Return the figures that mcpproxy-go published for its own search on its own gate."""
    path = folder / "board/mcpproxy/baseline_v1.json" if folder else None
    if path is None or not path.exists():
        return {}
    figures = json.loads(path.read_text("utf-8"))
    values = {f"R@{k}": value for k, value in figures["recall_at"].items()}
    return {"mcpproxy-go": {"set": "mcpproxy", "values": values}}
