"""What becomes of requests that are hard to read, and of requests within conversations.

`wanted` of a request holds its wishes, each with the tools any of which answers it; `forbidden` the
tools that it rules out. In a conversation a message with `talk` stands for so many words of
unrelated talk, which also surround the requests of the kind `long`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any, NamedTuple

import msgspec

from evals import report as reporting
from evals.metrics import SHORT
from evals.rankers import Ours
from toolscout.contract.requests import Message
from toolscout.index.catalog import Catalog
from toolscout.index.embedder import Embedder
from toolscout.index.tool_list import ToolList
from toolscout.ranking.ask import Ask, Decision
from toolscout.ranking.pipeline import decide
from toolscout.text import conversation
from toolscout.text.conversation import Conversation

HERE = Path(__file__).parent

CATALOG = "catalogs/300.json"

CATALOG_TOOLS = 300

LONG = "long"
"""The kind of requests that are put alone, and then within talk."""

LENGTHS = (100, 300, 1_000, 2_000)
"""Words of talk around a long request."""

PLACES = ("at the start", "in the middle", "at the end")
"""Where in the talk the request stands."""

FORBIDDEN = "forbidden first"
SHARES = ("found", "first", "match", "no_match", FORBIDDEN)


class HardQuestion(NamedTuple):
    """A question with the tools that it wants and those that it rules out."""

    kind: str
    asked: Conversation
    wanted: tuple[frozenset[str], ...]
    """The wishes: of each, the tools any of which answers it."""
    forbidden: frozenset[str] = frozenset()


def read_requests() -> list[HardQuestion]:
    """Return the requests; a long one first alone, then in talk of each length, at each place."""
    found = []
    for number, row in enumerate(_rows("requests.jsonl")):
        wanted, forbidden = _wishes(row), frozenset(row.get("forbidden", ()))
        for kind, text in _variants(row["kind"], row["text"], number):
            found.append(HardQuestion(kind, Conversation(text), wanted, forbidden))
    return found


def read_conversations() -> list[HardQuestion]:
    """Return the conversations, each read as the service reads its messages."""
    found = []
    for number, row in enumerate(_rows("conversations.jsonl")):
        messages = [_with_talk(message, number) for message in row["messages"]]
        asked = conversation.read(msgspec.convert(messages, tuple[Message, ...]))
        found.append(HardQuestion(row["kind"], asked, _wishes(row)))
    return found


def read_last_messages() -> list[HardQuestion]:
    """Return what the user says last in each conversation, talk left out, without the rest."""
    found = []
    for row in _rows("conversations.jsonl"):
        said = [message["content"] for message in row["messages"] if "content" in message]
        kind = f"{row['kind']}, last message alone"
        found.append(HardQuestion(kind, Conversation(said[-1]), _wishes(row)))
    return found


def report(folder: Path, model: str) -> tuple[str, Any]:
    """Return a table with a row for each kind, and the same figures as data."""
    path = folder / CATALOG
    if not path.exists():
        return f"skipped: there is no {path}", {}
    embedder = Embedder(model)
    tools = ToolList.decode(path.read_bytes(), CATALOG_TOOLS).tools
    catalog = Ours("auto", embedder).compile(tools)
    data = {
        "requests": figures(read_requests(), catalog, embedder),
        "conversations": figures(read_conversations() + read_last_messages(), catalog, embedder),
    }
    return "\n\n".join(_table(title, found) for title, found in data.items()), data


def figures(asked: Sequence[HardQuestion], catalog: Catalog, embedder: Embedder) -> dict[str, Any]:
    """Return the number of questions of each kind, and their shares."""
    judged: dict[str, list[dict[str, bool]]] = {}
    for each in asked:
        pattern, earlier = each.asked.pattern, each.asked.earlier
        decision = decide(catalog, Ask(pattern=pattern, earlier=earlier, top_k=SHORT), embedder)
        judged.setdefault(each.kind, []).append(judge(each, decision))
    return {
        kind: {"count": len(rows)} | {share: fmean(row[share] for row in rows) for share in rows[0]}
        for kind, rows in judged.items()
    }


def judge(asked: HardQuestion, decision: Decision) -> dict[str, bool]:
    """Return what is true of an answer, by the names of the shares."""
    names = decision.names[:SHORT]
    first = names[0] if names else None
    verdict = {
        "found": all(not wish.isdisjoint(names) for wish in asked.wanted),
        "first": any(first in wish for wish in asked.wanted),
        "match": decision.outcome == "match",
        "no_match": decision.outcome == "no_match",
    }
    if asked.forbidden:
        verdict[FORBIDDEN] = first in asked.forbidden
    return verdict


def talk(words: int, seed: int) -> list[str]:
    """Return sentences of at least so many words together, of a seed always the same."""
    sentences = (HERE / "talk.txt").read_text("utf-8").splitlines()
    chooser = Random(seed)
    said: list[str] = []
    waiting: list[str] = []
    while words > 0:
        waiting = waiting or chooser.sample(sentences, len(sentences))
        sentence = waiting.pop()
        said.append(sentence)
        words -= len(sentence.split())
    return said


def _variants(kind: str, text: str, seed: int) -> Iterator[tuple[str, str]]:
    if kind != LONG:
        yield kind, text
        return
    yield f"{kind}, alone", text
    for words in LENGTHS:
        said = talk(words, seed)
        spots = (0, len(said) // 2, len(said))
        for place, spot in zip(PLACES, spots, strict=True):
            around = [*said[:spot], text, *said[spot:]]
            yield f"{kind}, {words:,} words, {place}", " ".join(around)


def _with_talk(message: Mapping[str, Any], seed: int) -> dict[str, Any]:
    words = message.get("talk")
    content = message["content"] if words is None else " ".join(talk(words, seed))
    return {"role": message["role"], "content": content}


def _wishes(row: Mapping[str, Any]) -> tuple[frozenset[str], ...]:
    return tuple(map(frozenset, row["wanted"]))


def _rows(name: str) -> Iterator[dict[str, Any]]:
    with (HERE / name).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _table(title: str, found: Mapping[str, Mapping[str, float]]) -> str:
    rows = [
        [kind, str(row["count"]), *(_shown(row.get(share)) for share in SHARES)]
        for kind, row in found.items()
    ]
    return reporting.table([title, "count", *SHARES], rows, markdown=True)


def _shown(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"
