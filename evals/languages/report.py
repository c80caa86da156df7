"""How much of what is found in English is found in another language."""

import json
from collections.abc import Iterator, Mapping, Sequence
from math import log2
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import msgspec

from evals import report as reporting
from evals.metrics import SHORT
from evals.rankers import Answer, Ours, Search
from evals.sets import load_set
from toolscout.contract.fields import RankerName
from toolscout.contract.tools import Tool
from toolscout.index.embedder import Embedder

HERE = Path(__file__).parent

ENGLISH = "en"
LANGUAGES = ("zh", "ja", "ko", "ru", "de", "fr", "es")
WITH_TOOLS = ("zh", "ja", "ko")
"""Languages in which there are tools, too."""

PARAPHRASES = "asked-languages"
"""A set of requests in twelve languages, in other words than those of English tools."""

EVERYDAY_LANGUAGES = (ENGLISH, *LANGUAGES, "it", "pt", "nl", "pl", "tr")
"""Languages of the everyday requests."""

LATER = "everyday_later.jsonl"
"""More of them, written when everyday words had been listed: they judge the lists."""

SHORT_LATER = "short_later.jsonl"
"""Short requests written when the words of the others had been listed: six of each language."""

SHORT_LANGUAGES = ("de", "es", "fr", "it", "pt", "tr", "da", "cs", "uk", "hu", "sv", "ro")
"""Languages of the short requests: of the first six thirty each, of the others ten."""

ASSISTANT_SETS = ("hwu-voice", "thingpedia")
"""Development sets whose tools, together, are asked the short requests."""

RANKERS: tuple[RankerName, ...] = ("hybrid", "bm25")

NO_SCHEMA = msgspec.Raw(b"{}")


class Asked(NamedTuple):
    """A question, the tools any of which answers it, and where it is put."""

    tools: str
    text: str
    wanted: frozenset[str]


def questions(language: str) -> list[Asked]:
    """Return the questions of one language over the tools of the development sets."""
    return [
        Asked(row["set"], row[language], frozenset(row["tools"]))
        for row in _rows("questions.jsonl")
    ]


def own_tools(language: str) -> tuple[list[Tool], list[Asked]]:
    """Tools described in a language, and a question in it for each."""
    rows = list(_rows("tools.jsonl"))
    tools = [Tool(row["name"], row["description"][language], NO_SCHEMA) for row in rows]
    asked = [Asked(language, row["question"][language], frozenset([row["name"]])) for row in rows]
    return tools, asked


def business_tools() -> list[Tool]:
    """Return the English tools of a business, over which everyday requests are put."""
    rows = _rows("business_tools.jsonl")
    return [Tool(row["name"], row["description"], NO_SCHEMA) for row in rows]


def everyday(language: str, name: str = "everyday.jsonl") -> list[Asked]:
    """Return requests of two to four words; every second one, from the second, only judges."""
    rows = _rows(name)
    return [Asked(ENGLISH, row[language], frozenset(row["tools"])) for row in rows]


def short_requests(language: str, name: str = "short.jsonl") -> list[Asked]:
    """Return everyday requests of two to seven words, no translations of those elsewhere."""
    rows = [row for row in _rows(name) if row["language"] == language]
    return [Asked(ENGLISH, row["text"], frozenset(row["tools"])) for row in rows]


def assistant_tools(folder: Path) -> list[Tool]:
    """Return the English tools of two assistants, none where a set is missing."""
    paths = [folder / "toolsets" / "dev" / name for name in ASSISTANT_SETS]
    if not all((path / "corpus.jsonl").exists() for path in paths):
        return []
    return [tool for path in paths for tool in load_set(path).tools]


def report(folder: Path, model: str) -> tuple[str, Any]:
    """Return the tables, a row for each language, and all figures."""
    embedder = Embedder(model)
    data: dict[str, Any] = {"english tools": {}, "tools of the language": {}}
    sets = {row.tools for row in questions(ENGLISH)}
    corpora = {name: load_set(folder / "toolsets" / name).tools for name in sorted(sets)}
    for ranker in RANKERS:
        searches = {name: Ours(ranker, embedder)(tools) for name, tools in corpora.items()}
        for language in (ENGLISH, *LANGUAGES):
            found = figures(searches, questions(language))
            data["english tools"].setdefault(language, {})[ranker] = found
        for language in WITH_TOOLS:
            tools, asked = own_tools(language)
            found = figures({language: Ours(ranker, embedder)(tools)}, asked)
            data["tools of the language"].setdefault(language, {})[ranker] = found
    business = {ENGLISH: Ours("hybrid", embedder)(business_tools())}
    data["everyday"] = {
        language: _parts(business, everyday(language), everyday(language, LATER))
        for language in EVERYDAY_LANGUAGES
    }
    paraphrased = folder / "toolsets" / "dev" / PARAPHRASES
    if (paraphrased / "corpus.jsonl").exists():
        data["paraphrases"] = paraphrases(paraphrased, embedder)
    short_text, data["short requests"] = short_report(folder, embedder)
    return f"{_table(data)}\n\n{short_text}", data


def short_report(folder: Path, embedder: Embedder) -> tuple[str, dict[str, Any]]:
    """Return the table and the figures of the short requests."""
    tools = assistant_tools(folder)
    if not tools:
        return f"Short requests are skipped: {' or '.join(ASSISTANT_SETS)} is missing.", {}
    searches = {ENGLISH: Ours("hybrid", embedder)(tools)}
    data = {language: figures(searches, short_requests(language)) for language in SHORT_LANGUAGES}
    for language, found in data.items():
        later = figures(searches, short_requests(language, SHORT_LATER))
        found["written later: R@5"] = later["R@5"]
    measures = ("R@5", "P@1", "no_match", "written later: R@5")
    rows = [
        [language, *(reporting.cell(measure, found[measure]) for measure in measures)]
        for language, found in data.items()
    ]
    header = ["short requests in", *measures]
    return reporting.table(header, rows, markdown=True), data


def paraphrases(folder: Path, embedder: Embedder) -> dict[str, dict[RankerName, Any]]:
    """Return the figures of each language of a set whose questions say their language."""
    asked = load_set(folder)
    with (folder / "queries.jsonl").open(encoding="utf-8") as lines:
        language_of = {row["_id"]: row["kind"] for row in map(json.loads, lines)}
    found: dict[str, dict[RankerName, Any]] = {}
    for ranker in RANKERS:
        searches = {asked.name: Ours(ranker, embedder)(asked.tools)}
        for language in sorted(set(language_of.values())):
            of_language = [
                Asked(asked.name, question.text, question.gold)
                for question in asked.questions
                if language_of[question.id] == language
            ]
            found.setdefault(language, {})[ranker] = figures(searches, of_language)
    return found


def _parts(
    searches: Mapping[str, Search], asked: Sequence[Asked], later: Sequence[Asked]
) -> dict[str, Any]:
    """Return the figures of all requests, of those that may choose, and of those that judge."""
    parts = {"all": asked, "choosing": asked[::2], "judging": asked[1::2], "later": later}
    return {part: figures(searches, some) for part, some in parts.items()}


def figures(searches: Mapping[str, Search], asked: Sequence[Asked]) -> dict[str, float]:
    """P@1, R@5, nDCG@5 and the share of *no_match*, where one of the wanted tools is enough."""
    answers = [searches[each.tools](each.text, SHORT) for each in asked]
    places = [_place(answer, each) for answer, each in zip(answers, asked, strict=True)]
    return {
        "questions": len(asked),
        "P@1": fmean(place == 0 for place in places),
        "R@5": fmean(place is not None for place in places),
        "nDCG@5": fmean(0.0 if place is None else 1 / log2(place + 2) for place in places),
        "no_match": fmean(answer.is_nothing for answer in answers),
    }


def _place(answer: Answer, asked: Asked) -> int | None:
    hits = (place for place, name in enumerate(answer.names) if name in asked.wanted)
    return next(hits, None)


def _table(data: Mapping[str, Any]) -> str:
    header = ["in", "questions: R@5", "by words", "own tools: R@5", "other words: R@5"]
    header += ["everyday: P@1", "written later: P@1"]
    parts = ("english tools", "tools of the language", "paraphrases")
    rows = []
    for language, everyday_of in data["everyday"].items():
        asked, own, others = (data.get(part, {}).get(language, {}) for part in parts)
        recalls = [(asked, "hybrid"), (asked, "bm25"), (own, "hybrid")]
        recalls.append((others, "hybrid"))
        row = [reporting.cell("R@5", of.get(ranker, {}).get("R@5")) for of, ranker in recalls]
        row += [reporting.cell("P@1", everyday_of[part]["P@1"]) for part in ("all", "later")]
        rows.append([language, *row])
    return reporting.table(header, rows, markdown=True)


def _rows(name: str) -> Iterator[dict[str, Any]]:
    with (HERE / name).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
