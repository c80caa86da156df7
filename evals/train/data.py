"""The tool sets and catalogs that the model learns from.

The data stay outside the repository; see `data_root` for how they are found.
"""

import csv
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DATA_VARIABLE = "TOOLSCOUT_DATA"

TRAIN_SETS = (
    "metatool-single-full",
    "metatool-multi",
    "sealtools-full",
    "toollinkos",
    "gorilla-apibench",
    "toolbench-rapidapi",
    "asked-mcp",
)

CATALOG = "10000.json"


@dataclass(frozen=True)
class Tool:
    """One tool; `properties` holds (name, description) of its input's top-level properties."""

    id: str
    name: str
    description: str
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ToolSet:
    """Tools, queries and judgements of one set; `golds[i]` holds indices into `tools`."""

    name: str
    tools: list[Tool]
    queries: list[str] = field(default_factory=list)
    golds: list[list[int]] = field(default_factory=list)


def data_root(given: str | None = None) -> Path:
    """Return the folder that holds `toolsets/` and `catalogs/`.

    Raises:
        FileNotFoundError: no folder was given and TOOLSCOUT_DATA is unset, or it lacks them.
    """
    value = given or os.environ.get(DATA_VARIABLE)
    if not value:
        raise FileNotFoundError(
            f"Where are the data? Give --data PATH or set {DATA_VARIABLE} to the folder that "
            "holds toolsets/ and catalogs/."
        )
    root = Path(value)
    if not (root / "toolsets").is_dir() or not (root / "catalogs").is_dir():
        raise FileNotFoundError(f"{root} does not hold toolsets/ and catalogs/.")
    return root


def load_set(root: Path, role: str, name: str) -> ToolSet:
    """Read one set in BEIR format; queries without a judged tool are left out."""
    folder = root / "toolsets" / role / name
    tools = [
        _tool(row, row["_id"], row["title"], row["text"]) for row in _rows(folder / "corpus.jsonl")
    ]
    place = {tool.id: i for i, tool in enumerate(tools)}
    golds: dict[str, list[int]] = {}
    with (folder / "qrels.tsv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            if int(row["score"]) > 0:
                golds.setdefault(row["query-id"], []).append(place[row["corpus-id"]])
    judged = [row for row in _rows(folder / "queries.jsonl") if row["_id"] in golds]
    return ToolSet(
        name, tools, [row["text"] for row in judged], [golds[row["_id"]] for row in judged]
    )


def load_catalog(root: Path, name: str = CATALOG) -> ToolSet:
    """Read a catalog of real tools; it has no queries."""
    rows = json.loads((root / "catalogs" / name).read_text(encoding="utf-8"))
    tools = [_tool(row, row["name"], row["name"], row["description"]) for row in rows]
    return ToolSet("catalog", tools)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _tool(row: dict[str, Any], tool_id: str, name: str, description: str | None) -> Tool:
    schema = row.get("definition")
    found = schema.get("properties") if isinstance(schema, dict) else None
    properties = tuple(
        (key, str(value.get("description") or ""))
        for key, value in (found.items() if isinstance(found, dict) else ())
        if isinstance(value, dict)
    )
    return Tool(tool_id, name, description or "", properties)
