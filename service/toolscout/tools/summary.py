"""Say tools in few words: first sentence, estimated tokens, and what many are about."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from toolscout.common.spelling import find_prefix
from toolscout.contract.tools import Tool
from toolscout.tools.shapes import as_mapping

SUMMARY_CHARS = 200
"""Characters of a summary; a longer sentence is cut, with an ellipsis."""

CUT = "..."

_PARAGRAPH = re.compile(r"\n\s*\n")
_END = re.compile(r"[.!?](?=\s|$)|[。！？]")
_NEVER_ENDS = frozenset(("e.g", "i.e", "vs", "cf", "incl", "approx", "fig", "dr", "mr", "ms", "st"))
_MAY_END = frozenset(("etc", "no", "resp", "inc", "ltd"))
"""Abbreviations that end a sentence only before a capital letter."""


def cut_first_sentence(text: str, limit: int = SUMMARY_CHARS) -> str:
    """Return the first sentence of a text on one line, cut after `limit` characters.

    Abbreviations such as "e.g.", initials and version numbers end no sentence.
    """
    line = " ".join(_PARAGRAPH.split(text.strip(), maxsplit=1)[0].split())
    for match in _END.finditer(line, 0, limit):
        if not _is_abbreviation(line, match.start()):
            return line[: match.end()]
    if len(line) <= limit:
        return line
    end = limit
    while end and (unicodedata.combining(line[end]) or line[end] in "\u200d\ufe0f"):
        end -= 1
    return line[:end] + CUT


def _is_abbreviation(line: str, stop: int) -> bool:
    """Whether the full stop at `stop` belongs to the word before it."""
    if line[stop] != ".":
        return False
    word = line[:stop].rpartition(" ")[2].lstrip("(\"'").lower()
    if word in _NEVER_ENDS:
        return True
    following = line[stop + 2 : stop + 3]
    if word in _MAY_END or (len(word) == 1 and word.isalpha()) or "." in word:
        return bool(following) and not following.isupper()
    return False


MAX_SAMPLE = 500

_encode = msgspec.json.Encoder(enc_hook=str).encode

CHARS_PER_TOKEN = 4
"""Average of common tokenizers on JSON and English."""


def estimate_tool_tokens(tool: Tool) -> int:
    """Estimate the tokens of a tool in a prompt: of its raw definition, or of name and text."""
    definition = len(memoryview(tool.definition)) or len(memoryview(tool.parameters))
    spelled = len(tool.name) + len(tool.description or "")
    return -(-max(definition, spelled) // CHARS_PER_TOKEN)


def estimate_definition_tokens(tools: Iterable[Any]) -> int:
    """Estimate the tokens of tools in any provider's shape; what is no JSON counts for nothing.

    Of many tools, a sample speaks for all.
    """
    every = list(tools)
    sample = every[:: max(1, len(every) // MAX_SAMPLE)]
    chars = 0
    for tool in sample:
        with suppress(Exception):
            chars += len(_encode(as_mapping(tool)))
    return -(-chars * len(every) // (len(sample) * CHARS_PER_TOKEN)) if sample else 0


def estimate_text_tokens(text: str) -> int:
    """Estimate the tokens of a text."""
    return -(-len(text) // CHARS_PER_TOKEN)


MAX_HINTS = 10
"""Maximum number of namespaces or names to list."""

MAX_HINT_CHARS = 128
"""Longer names are left out of such a list."""


def count_namespaces(
    names: Sequence[str], namespace_of: Callable[[str], str] = find_prefix
) -> dict[str, int]:
    """Return the namespaces with the most tools, and how many tools each has."""
    counts = Counter(space for name in _shorten(names) if (space := namespace_of(name)))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MAX_HINTS])


def pick_examples(names: Sequence[str]) -> list[str]:
    """Return some names, evenly from all in their alphabetical order."""
    short = _shorten(names)
    return short[:: -(-len(short) // MAX_HINTS)] if short else []


def sum_up(names: Sequence[str]) -> str:
    """Return the number of tools with their namespaces or some names, as part of a sentence."""
    total = f"{len(names)} tools" if len(names) != 1 else "1 tool"
    if spaces := count_namespaces(names):
        listed = ", ".join(f"{space} ({count})" for space, count in spaces.items())
        share = "most" if 2 * sum(spaces.values()) > len(names) else "some"
        return f"{total}, {share} of them under {listed}"
    listed = ", ".join(pick_examples(names))
    return f"{total}, such as {listed}" if listed else total


def _shorten(names: Sequence[str]) -> list[str]:
    return sorted(name for name in names if len(name) <= MAX_HINT_CHARS)
