"""Strategy `tool-search`: find tools by a regular expression, here, without asking anyone.

Finds what the proxy finds: the pattern is RE2, in any case, over the name, the description and the
names and descriptions of the top-level properties; an invalid pattern is searched for as keywords.
Three things are better than there:

- pins are in the result of an invalid pattern too, where the proxy loses them;
- a keyword counts where it is a whole word: "add" does not find "address", nor "pr" "improve";
- properties keep the order of the schema, so a pattern that spans two of them always finds them.
"""

import re
from collections.abc import Collection, Sequence
from typing import Any

import re2

from toolscout.client.discovery.strategies import relevance
from toolscout.client.offer import Offer
from toolscout.contract import DEFAULT_TOP_K
from toolscout.text.relevance import MIN_WORD, Said
from toolscout.tools.shapes import schema_of, texts

NAMED = 100
PER_WORD = 10
MAX_PROGRAM_BYTES = 1 << 20
"""Memory RE2 may spend on one pattern; larger ones are searched for as keywords."""

_KEYWORD = re.compile(r"[a-z0-9_-]+")
_PART = re.compile(r"[a-z0-9]+")
_OPTIONS = re2.Options()
_OPTIONS.case_sensitive = False
_OPTIONS.max_mem = MAX_PROGRAM_BYTES
_OPTIONS.log_errors = False
_OPTIONS.never_capture = True


def regex_search(
    pattern: str,
    tools: Sequence[Any],
    always_keep: Collection[str] = (),
    max_results: int = DEFAULT_TOP_K,
) -> list[str]:
    """Names of all tools that match or are pinned, in request order; a blank pattern has none.

    As in the proxy there is no cap on matches; `max_results` is for the keywords of an invalid
    pattern. `search` cuts.
    """
    if not pattern.strip():
        return []
    offer = Offer(tools)
    expression = _compile(pattern)
    if expression is None:
        found = set(_keyword_names(pattern, offer, max_results))
    else:
        items = offer.by_name.items()
        found = {name for name, tool in items if expression.search(_text(name, tool)) is not None}
    return [name for name in offer.names if name in found or name in always_keep]


def keyword_search(query: str, tools: Sequence[Any], max_results: int = DEFAULT_TOP_K) -> list[str]:
    """Names of the tools with the most words of the query in name and description, best first.

    +100 for the whole name, +10 per word of three letters or more; without any, not found. At most
    `max_results`; less than 1 is taken as 5. Equal scores keep the request order.
    """
    return _keyword_names(query, Offer(tools), max_results)


def search(
    pattern: str,
    tools: Sequence[Any],
    max_results: int = DEFAULT_TOP_K,
    always_keep: Collection[str] = (),
) -> list[str]:
    """What `regex_search` finds, cut at `max_results`: by relevance, pins not before a match."""
    found = regex_search(pattern, tools, always_keep, max_results)
    cap = max_results if max_results >= 1 else DEFAULT_TOP_K
    offer = Offer(tools)
    scores = {name: relevance.score(pattern, name, texts(offer.by_name[name])[1]) for name in found}
    pins = [name for name in found if name in always_keep]
    matches = sorted((name for name in found if name not in always_keep), key=lambda n: -scores[n])
    pins = pins[: cap - 1] if matches else pins[:cap]
    return matches[: cap - len(pins)] + pins


def _keyword_names(query: str, offer: Offer, max_results: int) -> list[str]:
    cap = max_results if max_results >= 1 else DEFAULT_TOP_K
    said = Said(query)
    asked = [word for word in _KEYWORD.findall(query.lower()) if len(word) >= MIN_WORD]
    scores: dict[str, int] = {}
    for name, tool in offer.by_name.items():
        text = f"{name} {texts(tool)[1]}".lower()
        has = {*_KEYWORD.findall(text), *_PART.findall(text)}
        score = NAMED * said.names(name) + PER_WORD * sum(word in has for word in asked)
        if score:
            scores[name] = score
    return sorted(scores, key=lambda name: -scores[name])[:cap]


def _text(name: str, tool: Any) -> bytes:
    pieces = [name, texts(tool)[1]]
    properties = schema_of(tool).get("properties")
    if isinstance(properties, dict):
        for key, sub in properties.items():
            pieces.append(str(key))
            if isinstance(sub, dict) and isinstance(sub.get("description"), str):
                pieces.append(sub["description"])
    return " ".join(piece for piece in pieces if piece).encode("utf-8", "replace")


def _compile(pattern: str) -> "re2._Regexp | None":
    try:
        return re2.compile(pattern.encode(), _OPTIONS)
    except (re2.error, UnicodeEncodeError):
        return None
