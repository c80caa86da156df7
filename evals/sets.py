"""Tool-retrieval sets in BEIR format, and lists of self-contained requests.

A set is a folder with `corpus.jsonl`, `queries.jsonl` and `qrels.tsv`; one with `requests.jsonl`
instead holds per line a query with its own few candidate tools.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from toolscout.contract.tools import Tool

DEV = ("azure-mcp-2026", "bfcl-live", "nestful", "apibank")
"""The sets that the bars are averaged over."""

GROUPS = {
    "people": ("bfcl-live", "thingpedia", "hwu-voice", "out-of-scope"),
    "vendors": ("azure-mcp-2026", "vendor-usewhen", "nestful", "apibank"),
    "languages": ("asked-languages", "zh-functions", "functionchat-ko"),
}
"""Whose words a set has: a change of the ranking is judged on the mean of each."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query and the names of the tools that answer it; none when nothing does."""

    id: str
    text: str
    gold: frozenset[str]
    kind: str = ""
    """Its language, in a set of several."""


@dataclass(frozen=True, slots=True)
class ToolSet:
    """Tools with the questions asked of them."""

    name: str
    tools: tuple[Tool, ...]
    questions: tuple[Question, ...]


def data_folder(given: Path | None) -> Path | None:
    """Return the data folder, from a flag or `TOOLSCOUT_DATA`; None when there is none."""
    folder = given or Path(os.environ.get("TOOLSCOUT_DATA", ""))
    return folder if (folder / "toolsets").is_dir() else None


def load_set(folder: Path) -> ToolSet:
    """Read one set. Names that several tools share are numbered, so that they stay apart."""
    tools: dict[str, Tool] = {}
    names: dict[str, str] = {}
    for entry in _lines(folder / "corpus.jsonl"):
        name = _free(entry["title"], tools)
        names[entry["_id"]] = name
        definition = msgspec.Raw(msgspec.json.encode(entry.get("definition") or {}))
        tools[name] = Tool(name, entry.get("text") or None, definition)
    gold: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines():
        query, *_, tool, grade = line.split("\t")
        if grade.isdigit() and int(grade) > 0 and tool in names:
            gold.setdefault(query, set()).add(names[tool])
    questions = tuple(
        Question(entry["_id"], entry["text"], frozenset(gold[entry["_id"]]), entry.get("kind", ""))
        for entry in _lines(folder / "queries.jsonl")
        if entry["_id"] in gold and entry["text"].strip()
    )
    return ToolSet(folder.name, tuple(tools.values()), questions)


def load_requests(folder: Path) -> list[ToolSet]:
    """Read a list of requests, each as a set with one question."""
    sets = []
    for entry in _lines(folder / "requests.jsonl"):
        tools = tuple(
            Tool(
                tool["name"],
                tool.get("description") or None,
                msgspec.Raw(msgspec.json.encode(tool.get("definition") or {})),
            )
            for tool in entry["tools"]
        )
        question = Question(entry["_id"], entry["query"], frozenset(entry["gold"]))
        sets.append(ToolSet(folder.name, tools, (question,)))
    return sets


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def _free(name: str, taken: dict[str, Tool]) -> str:
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}_{number}", number + 1
    return candidate
