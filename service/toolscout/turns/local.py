"""Find and filter tools here, without asking anyone: the proxy's strategies and the fallback.

`relevance` scores tools against the query, by the function that the service filters with:

    expanded +1000, always_keep +100, recently used +100, name in the query +50,
    each word of the query that the tool has +10 (repeats count again)

    keep = max(min(int(total · target_ratio), max_tools), min_tools)

`tool-search` takes the pattern as RE2 (the extra `tool-search`), in any case, over the name, the
description and the names and descriptions of the top-level properties; an invalid pattern is
searched for as keywords.

Scores, counts, words and matches are the proxy's. Four things are improved:

- a name counts where it is a word of the query, not where its letters stand inside another word;
- a keyword counts where it is a whole word: "add" does not find "address", nor "pr" "improve";
- pins are in the result of an invalid pattern too, where the proxy loses them;
- properties keep the order of the schema, so a pattern that spans two of them always finds them.
"""

import re
from collections.abc import Collection, Sequence
from functools import cache
from time import perf_counter
from typing import Any

from toolscout import data
from toolscout.client.offer import Offer
from toolscout.client.selection import Selection
from toolscout.common.optional import write_install_command
from toolscout.contract.fields import DEFAULT_TOP_K
from toolscout.errors import ConfigurationError
from toolscout.text.relevance import (
    MIN_WORD,
    Candidate,
    QueryWords,
    keep_relevant,
    measure_relevance,
)
from toolscout.tools.shapes import read_texts, schema_of

MAX_PROGRAM_BYTES = 1 << 20
"""Memory RE2 may spend on one pattern; larger ones are searched for as keywords."""

try:
    import re2
except ImportError:  # only the extra `tool-search` has it
    re2 = None
else:
    _OPTIONS = re2.Options()
    _OPTIONS.case_sensitive = False
    _OPTIONS.max_mem = MAX_PROGRAM_BYTES
    _OPTIONS.log_errors = False
    _OPTIONS.never_capture = True

NAMED = 100
PER_WORD = 10
Tools = Sequence[Any] | Offer

_KEYWORD = re.compile(r"[a-z0-9_-]+")
_PART = re.compile(r"[a-z0-9]+")
_WORD = re.compile(r"\w+")


_ANSWERS = """
yes yeah yep yup no nope right correct exactly agreed good great nice perfect cool fine wonderful
awesome done go ahead continue proceed again later bye lot much
"""


@cache
def _load_idle_words() -> frozenset[str]:
    """Return words that answer or phrase a request, and never say what it is for."""
    texts = (_ANSWERS, *data.load("stopwords").values())
    return frozenset(word for text in texts for word in text.split())


def is_asking(text: str) -> bool:
    """Return whether a message may ask for a tool: not thanks, a yes or a number alone."""
    every = (match[0] for match in _WORD.finditer(text.casefold()))
    words = (word for word in every if not word.isnumeric())
    return any(
        word not in _load_idle_words() for word in words if len(word) > 1 or not word.isascii()
    )


def filter_tools(query: str, tools: Tools, **limits: Any) -> tuple[list[str], list[str]]:
    """Split tools of any shape into names kept and names deferred; limits of `keep_relevant`.

    Both are in the order of scores, equal ones in that of the request. Pinned and expanded tools
    count towards the cap but are kept beyond it.
    """
    offer = Offer.of(tools)
    candidates = [Candidate(name, read_texts(tool)[1]) for name, tool in offer.by_name.items()]
    return keep_relevant(candidates, query, **limits)


def search(pattern: str, tools: Tools, max_results: int = DEFAULT_TOP_K) -> list[str]:
    """Cut the result of `regex_search` at `max_results`, by relevance."""
    offer = Offer.of(tools)
    words = QueryWords(pattern)
    hits = [(name, offer.by_name[name]) for name in regex_search(pattern, offer, (), max_results)]
    scores = {
        name: measure_relevance(Candidate(name, read_texts(tool)[1]), words) for name, tool in hits
    }
    return _find_best(scores, max_results)


def select(pattern: str, tools: Offer, max_results: int) -> Selection[Any]:
    """Return what `search` finds as a selection; an empty one is no failure."""
    started = perf_counter()
    names = search(pattern, tools, max_results)
    if not names and tools.visible is not None:
        names = search(pattern, tools.visible, max_results)
    took = (perf_counter() - started) * 1_000
    return Selection(names, list(tools.pick(names)), latency_ms=took)


def regex_search(
    pattern: str, tools: Tools, always_keep: Collection[str] = (), max_results: int = DEFAULT_TOP_K
) -> list[str]:
    """Names of all tools that match or are pinned, in request order; a blank pattern has none.

    As in the proxy there is no cap on matches; `max_results` is for the keywords of an invalid
    pattern. `search` cuts.
    """
    if not pattern.strip():
        return []
    offer = Offer.of(tools)
    expression = _compile(pattern)
    if expression is None:
        matches = set(keyword_search(pattern, offer, max_results))
    else:
        items = offer.by_name.items()
        matches = {
            name for name, tool in items if expression.search(_read_text(name, tool)) is not None
        }
    return [name for name in offer.names if name in matches or name in always_keep]


def keyword_search(query: str, tools: Any, max_results: int = DEFAULT_TOP_K) -> list[str]:
    """Names of the tools with the most words of the query in name and description, best first.

    +100 for the whole name, +10 per word of three letters or more; without any, not found. At most
    `max_results`; less than 1 is taken as 5. Equal scores keep the request order.
    """
    query_words = QueryWords(query)
    asked = [word for word in _KEYWORD.findall(query.lower()) if len(word) >= MIN_WORD]
    scores: dict[str, int] = {}
    for name, tool in Offer.of(tools).by_name.items():
        text = f"{name} {read_texts(tool)[1]}".lower()
        has = {*_KEYWORD.findall(text), *_PART.findall(text)}
        points = NAMED * query_words.names(name) + PER_WORD * sum(word in has for word in asked)
        if points:
            scores[name] = points
    return _find_best(scores, max_results)


def _find_best(scores: dict[str, int], max_results: int) -> list[str]:
    """Return the names with the best scores, equal ones in their order."""
    cap = max_results if max_results >= 1 else DEFAULT_TOP_K
    return sorted(scores, key=lambda name: -scores[name])[:cap]


def _read_text(name: str, tool: Any) -> bytes:
    pieces = [name, read_texts(tool)[1]]
    properties = schema_of(tool).get("properties")
    if isinstance(properties, dict):
        for key, sub in properties.items():
            pieces.append(str(key))
            if isinstance(sub, dict) and isinstance(sub.get("description"), str):
                pieces.append(sub["description"])
    return " ".join(piece for piece in pieces if piece).encode("utf-8", "replace")


def check_regex() -> None:
    """Check that patterns can be matched here.

    Raises:
        ConfigurationError: a package is missing.
    """
    if re2 is None:
        needed = f"the package google-re2: {write_install_command('tool-search')}"
        raise ConfigurationError(f"strategy: tool-search needs {needed}")


def _compile(pattern: str) -> Any:
    if re2 is None:
        return None
    try:
        return re2.compile(pattern.encode(), _OPTIONS)
    except (re2.error, UnicodeEncodeError):
        return None
