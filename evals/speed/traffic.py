"""What is sent: real catalogs, and a different pattern with every request."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, repeat
from pathlib import Path
from random import Random
from string import ascii_lowercase
from typing import Any

from evals.speed.client import request

SEARCH = "/v1/tool-discovery/search"
HOT = "/v1/tool-discovery/hot"
FEEDBACK = "/v1/tool-discovery/feedback"
SIZES = (50, 300, 1_000, 3_000, 10_000)

MARK = "@text@"
"""Stands for what is another text in each request."""

VERBS = ("create", "list", "find", "update", "delete", "summarise", "export", "compare")
THINGS = ("issue", "calendar event", "customer record", "image", "repository branch", "invoice")
PLACES = ("in the project", "for last week", "from the database", "on the server", "as a table")

PROSE = tuple(f"{v} the {t} {p}" for v in VERBS for t in THINGS for p in PLACES)
TYPOS = tuple(f"{v[:-1]}{v[-1]}e the {t[1]}{t[0]}{t[2:]} {MARK}" for v in VERBS for t in THINGS)
NONSENSE = tuple(f"zxqv wvut{n} qqkx {MARK}" for n in range(48))
REGEX = tuple(f"{v}.*{t.split()[0]}" for v in VERBS for t in THINGS)

_serial = count()


def catalogs(folder: Path | None) -> Path | None:
    """Return the folder with the catalogs, from the flag or `TOOLSCOUT_DATA`; None when absent."""
    root = folder or Path(os.environ.get("TOOLSCOUT_DATA", "."))
    found = root / "catalogs"
    return found if (found / "300.json").is_file() else None


def load(folder: Path, size: int) -> list[dict[str, Any]]:
    """Return the tools of one catalog."""
    tools: list[dict[str, Any]] = json.loads((folder / f"{size}.json").read_text("utf-8"))
    return tools


def inline(tools: str, patterns: Sequence[str], **fields: Any) -> list[bytes]:
    """Return searches that carry their tools, each with its own pattern."""
    return [request(SEARCH, _body(pattern, f'"tools":{tools}', fields)) for pattern in patterns]


def patient(tools: str, pattern: str = PROSE[0]) -> bytes:
    """Return a search that waits for its tools to be compiled."""
    return inline(tools, [pattern], latency_budget_ms=60_000)[0]


def by_digest(digest: str, patterns: Sequence[str], **fields: Any) -> list[bytes]:
    """Return searches that name a known catalog."""
    return [request(SEARCH, _body(p, f'"catalog":"{digest}"', fields)) for p in patterns]


def unseen(tools: list[dict[str, Any]], changed: int | None = None) -> str:
    """Return the same tools as JSON with new content: all of them, or only some."""
    limit = len(tools) if changed is None else changed
    added = repeat(f"(revision {next(_serial)})")
    return json.dumps([*_longer(tools[:limit], added), *tools[limit:]])


def with_new_words(tools: list[dict[str, Any]]) -> str:
    """Return the same tools as JSON, each with two words that nobody has ever written."""
    chance = Random(next(_serial))
    words = ("".join(chance.choices(ascii_lowercase, k=7)) for _ in count())
    return json.dumps(_longer(tools, (f"{word} {next(words)}" for word in words)))


def _longer(tools: Iterable[dict[str, Any]], added: Iterable[str]) -> list[dict[str, Any]]:
    pairs = zip(tools, added, strict=False)
    return [{**tool, "description": f"{tool['description']} {text}"} for tool, text in pairs]


class Anew(Sequence[bytes]):
    """Requests with another text in place of `MARK` each time that one is sent: a number, if none.

    The text is escaped as in JSON, and the length of the body set.
    """

    _COUNT = 100_000_000

    def __init__(self, payloads: Sequence[bytes], texts: Iterator[str] | None = None) -> None:
        self._payloads = [payload.partition(b"\r\n\r\n")[2] for payload in payloads]
        self._paths = [payload.split(b" ", 2)[1].decode() for payload in payloads]
        self._texts = texts or (f"{number:08d}" for number in _serial)

    def __getitem__(self, number: int) -> bytes:  # type: ignore[override]
        at = number % len(self._payloads)
        text = json.dumps(next(self._texts))[1:-1].encode()
        return request(self._paths[at], self._payloads[at].replace(MARK.encode(), text))

    def __len__(self) -> int:
        return self._COUNT


def ever_new(tools: list[dict[str, Any]]) -> Anew:
    """Return searches of ever new tools: the same ones, each with another number."""
    marked = json.dumps(_longer(tools, repeat(f"(revision {MARK})")))
    return Anew(inline(marked, PROSE[:1]))


def _body(pattern: str, catalog: str, fields: dict[str, Any]) -> bytes:
    extra = "".join(f',"{name}":{json.dumps(value)}' for name, value in fields.items())
    return f'{{"pattern":{json.dumps(pattern)},"top_k":5{extra},{catalog}}}'.encode()
