"""Classify the risk of a tool: one rule for client and service.

The risk follows from MCP annotations, else from the first verb of the name or of the
description, by the table in `data/risk.toml`. Without a known verb a tool counts as `write_remote`
unless its server has another default, so that a limit on risk errs on the safe side.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, get_args

from toolscout import data
from toolscout.common.spelling import namespace_in
from toolscout.contract.fields import Risk
from toolscout.tools.shapes import as_mapping, texts

LEVELS: tuple[Risk, ...] = get_args(Risk)
"""From harmless to destructive."""

PURPOSE_CHARS = 160
"""Characters of a description that are read: a verb or its object stands at the beginning."""

_VERB_WITHIN = 3
"""Words of a description in which its verb is searched: "This tool deletes"."""

_OBJECT_WITHIN = 8
"""Words of a description in which the object of its verb is searched."""

_KINDS = ("read_only", "write", "write_remote", "destructive")
_JOINED = frozenset(("and", "or"))
"""Words between two verbs of a name, of which the worse one counts: `search_and_replace`."""

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")

_ENDINGS = (
    ("", ("",)),
    ("s", ("",)),
    ("es", ("", "e")),
    ("ies", ("y",)),
    ("d", ("",)),
    ("ed", ("", "e")),
    ("ied", ("y",)),
    ("ing", ("", "e")),
    ("er", ("", "e")),
    ("ion", ("", "e")),
    ("ation", ("", "e", "ate")),
    ("ification", ("ify",)),
    ("al", ("", "e")),
    ("ment", ("",)),
)
"""Endings of a verb's forms, and their replacements in the infinitive."""


def risk(
    name: str,
    description: str,
    annotations: Any,
    *,
    is_elsewhere: bool,
    default: Risk = "write_remote",
) -> Risk:
    """Judge a tool by its name, its description and the hints of MCP, else by a default.

    `is_elsewhere`: the tool belongs to a server, so its writes are remote.
    """
    writes = False
    if isinstance(annotations, Mapping):
        hinted = _annotated(annotations, is_elsewhere=is_elsewhere)
        if hinted is not None:
            return hinted
        writes = annotations.get("readOnlyHint") is False  # whatever its words say
    level = _spoken(name, description[:PURPOSE_CHARS], is_elsewhere=is_elsewhere) or default
    if level == "read_only" and writes:
        return "write_remote" if default == "read_only" else default
    return level


def risk_of(tool: Any) -> Risk:
    """Return the risk of a tool of any shape."""
    fields = as_mapping(tool)
    level = fields.get("risk")
    if level in LEVELS:
        return level  # type: ignore[no-any-return]
    name, description = texts(tool)
    elsewhere = bool(fields.get("namespace") or namespace_in(name))
    return risk(name, description, fields.get("annotations"), is_elsewhere=elsewhere)


def needs_schema(level: Risk) -> bool:
    """Return whether a model must have read the whole schema before it may call the tool."""
    return level in ("write_remote", "destructive")


def needs_confirmation(level: Risk) -> bool:
    """Return whether a person should be asked before the tool is called."""
    return level == "destructive"


def verb_kind(name: str) -> str | None:
    """Return the kind of a name's first verb: `read_only`, `write`, `write_remote`, …."""
    kinds, _ = _table()
    return next((kinds[word] for word in _words(name) if word in kinds), None)


def _annotated(hints: Mapping[str, Any], *, is_elsewhere: bool) -> Risk | None:
    """Return the risk by MCP hints; None if they do not decide it."""
    if hints.get("readOnlyHint") is True:
        return "read_only"
    if hints.get("destructiveHint") is True:
        return "destructive"
    if hints.get("destructiveHint") is False:
        outside = hints.get("openWorldHint")
        if outside is False:
            return "write_local"
        if outside is True or is_elsewhere:
            return "write_remote"
    return None


def _spoken(name: str, description: str, *, is_elsewhere: bool) -> Risk | None:
    """Return the risk by the worst verb of the name, else the description's first verb."""
    kinds, local = _table()
    in_name, in_text = list(_words(name)), list(_words(description))
    verb_kinds = [kinds[word] for word in in_name if word in kinds]
    if not verb_kinds:
        verb_kinds = [kinds[word] for word in in_text[:_VERB_WITHIN] if word in kinds][:1]
    if not verb_kinds:
        return None
    kind = verb_kinds[0] if _JOINED.isdisjoint(in_name) else max(verb_kinds, key=_KINDS.index)
    if kind != "write":
        return kind  # type: ignore[return-value]
    if not local.isdisjoint(in_name):
        return "write_local"
    if is_elsewhere or local.isdisjoint(in_text[:_OBJECT_WITHIN]):
        return "write_remote"
    return "write_local"


def _words(text: str) -> Iterator[str]:
    """Return words in lower case, with forms of known verbs as their infinitives."""
    for word in _WORD.findall(text):
        yield _verb(word.lower())


@lru_cache(maxsize=8_192)
def _verb(word: str) -> str:
    """Return the infinitive of `deletion`, `wiped` or `uninstalling`; else the word."""
    kinds, _ = _table()
    for ending, replacements in _ENDINGS:
        if not word.endswith(ending):
            continue
        stem = word.removesuffix(ending)
        doubled = len(stem) > 2 and stem[-1] == stem[-2]
        for verb in (*(stem + letters for letters in replacements), stem[:-1] if doubled else ""):
            if verb in kinds:
                return verb
    return word


@cache
def _table() -> tuple[dict[str, str], frozenset[str]]:
    """Return each verb's kind, and the nouns of things on the user's own machine."""
    table = data.load("risk")
    kinds = {verb: kind for kind, verbs in table["verbs"].items() for verb in verbs.split()}
    return kinds, frozenset(table["local"]["nouns"].split())
