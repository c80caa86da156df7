"""Texts of tools that order a model about, or hide characters from the people who read them.

A description says what a tool does. The table holds what published attacks by descriptions have in
common; whoever wants to can write around it, so it is no proof that a tool is harmless.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f"  # controls, but for those of lines and pages
    "\u202a-\u202e\u2066-\u2069"  # overrides, embeddings and isolates of the direction
    "\u200b\u2060-\u2064\ufeff"  # spaces without a width, and operators that are not shown
    "\U000e0000-\U000e007f\U000e0100-\U000e01ef]"  # tags and selectors, which can spell any text
)
"""Characters that are not shown. Marks of direction and joiners, which scripts need, are not."""

_PRIVATE_FILES = (
    r"(?:\.ssh/|id_rsa|id_ed25519|/etc/(?:passwd|shadow)|\.aws/credentials|\.cursor/mcp\.json"
    r"|claude_desktop_config|\.netrc|\.git-credentials|\.kube/config)"
)

ORDERS: Mapping[str, re.Pattern[str]] = {
    "keeps something from the user": re.compile(
        r"\b(?:do not|don['’]t|never|without)\s+(?:mention|tell|inform|reveal|disclos)(?:e|ing)?\s+"
        r"(?:(?:this|that|these|it|anything|any|of|about|what|you|did|do|to|the|your)\s+)*"
        r"(?:user|human|instructions?)\b(?!['’]s)"
        r"|\b(?:do not|don['’]t|never|without)\s+let(?:ting)?\s+the\s+"
        r"(?:user|human)\s+(?:know|see)\b"
        r"|\b(?:secret|hidden)\s+from\s+the\s+(?:user|human)\b",
        re.IGNORECASE,
    ),
    "overrides other instructions": re.compile(
        r"\b(?:ignore|disregard|forget|override)\s+(?:all |any |the |your |every )*"
        r"(?:previous|prior|earlier|above|preceding|system)\s+"
        r"(?:instruction|prompt|rule|message|direction|guideline)"
        r"|\b(?:ignore|disregard|forget)\s+(?:everything|anything|all)\s+(?:above|before)\b",
        re.IGNORECASE,
    ),
    "has a tag that poses as the host's": re.compile(
        r"<\s*/?\s*(?:important|system|hidden|system[-_]prompt)\s*>"
        r"|<\|(?:im_start|im_end|system|endoftext)\|>|\[/?(?:INST|SYSTEM)\]",
        re.IGNORECASE,
    ),
    "wants a private file to be read": re.compile(
        rf"\b(?:read|open|cat|load|access|send|upload|include|pass)(?:s|es|ing)?\b[^.\n]{{0,60}}{_PRIVATE_FILES}",
        re.IGNORECASE,
    ),
    "wants the conversation to be passed on": re.compile(
        r"\b(?:pass|send|include|put|copy|forward|append)(?:s|es|ing)?\b[^.\n]{0,30}\b"
        r"(?:(?:whole|entire|full|complete) (?:conversation|chat)|chat history|conversation history"
        r"|system prompt|(?:its|the) contents? (?:as|in) (?:a |the )?side ?note)",
        re.IGNORECASE,
    ),
}
"""What a text does, by a pattern that finds it."""


PASSED_BACK = ("const", "default", "enum", "example", "examples")
"""Keys of a schema whose values a call repeats, so that they stay as they are."""

ONLY_READ = ("description", "title", "$comment", "anthropic/searchHint")
"""Keys whose texts are no part of a call."""

NAMING = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keys of objects whose own keys are names, such as a parameter `default`."""


def has_hidden(value: Any) -> bool:
    """Return whether a text of a tool hides characters."""
    return any(HIDDEN.search(text) for text in _find_texts(value))


def strip_hidden(value: Any, *, is_naming: bool = False) -> Any:
    """Return a definition whose descriptions and titles hide nothing; names stay as they are.

    Raises:
        RecursionError: it is nested too deeply.
    """
    if isinstance(value, list):
        return [strip_hidden(one) for one in value]
    if not isinstance(value, dict):
        return value
    stripped = {}
    for key, one in value.items():
        if is_naming:
            stripped[key] = strip_hidden(one)
        elif key in ONLY_READ and isinstance(one, str):
            stripped[key] = HIDDEN.sub("", one)
        elif key in PASSED_BACK:
            stripped[key] = one
        else:
            stripped[key] = strip_hidden(one, is_naming=key in NAMING)
    return stripped


def find_poison(value: Any) -> list[str]:
    """Return what is wrong with the texts of a tool, whatever its shape; mostly nothing."""
    found: dict[str, None] = {}
    if has_hidden(value):
        found["hides characters"] = None
    for text in _find_texts(value):
        shown = HIDDEN.sub("", text)
        found |= dict.fromkeys(what for what, order in ORDERS.items() if order.search(shown))
    return list(found)


def _find_texts(value: Any) -> Iterator[str]:
    """Yield every text of a JSON value, keys too."""
    rest = [value]
    while rest:
        one = rest.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            rest += one.keys()
            rest += one.values()
        elif isinstance(one, list | tuple):
            rest += one
