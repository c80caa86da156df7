"""How much harm a tool can do, and a gate before those that can do some.

A tool's `risk` is what it says itself, else what its MCP annotations say, else what the first verb
of its name or of its description says, by the table the service has. Where no verb is known a tool
is taken to write somewhere else.
"""

import re
from functools import cache
from hashlib import sha256
from typing import Any, get_args

import msgspec

from toolscout import data
from toolscout.client.tools import as_mapping, texts
from toolscout.contract import Risk

LEVELS: tuple[Risk, ...] = get_args(Risk)
"""From harmless to worst."""

_VERB_WITHIN = 3
"""Words of a description in which its verb stands: "This tool deletes"."""

_OBJECT_WITHIN = 8
"""Words of a description in which the object of its verb stands."""

_KINDS = ("read_only", "write", "write_remote", "destructive")
_JOINED = frozenset(("and", "or"))
"""Words between two verbs of a name, of which the worse one counts: `search_and_replace`."""

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_NAMESPACED = re.compile(r"[a-zA-Z]\w*?(?:__|[.:/])\w")
"""A name with a server before it: what it writes, it writes elsewhere."""


def risk_of(tool: Any) -> Risk:
    """The risk of a tool of any shape."""
    given = as_mapping(tool)
    risk = given.get("risk")
    if risk in LEVELS:
        return risk  # type: ignore[no-any-return]
    name, description = texts(tool)
    elsewhere = _NAMESPACED.match(name) is not None
    return _annotated(given.get("annotations"), elsewhere) or _spoken(name, description, elsewhere)


def requires_full_schema(tool: Any) -> bool:
    """Whether a model must have read the whole schema before it may call the tool."""
    return LEVELS.index(risk_of(tool)) >= LEVELS.index("write_remote")


def requires_confirmation(tool: Any) -> bool:
    """Whether a person should be asked before the tool is called."""
    return risk_of(tool) == "destructive"


class RiskGate:
    """Remembers which schemas a conversation has read, and refuses risky calls before that.

    A tool that changed since must be read anew. One gate per conversation; not thread-safe.
    """

    def __init__(self) -> None:
        self._read: set[bytes] = set()

    def note_read(self, tool: Any) -> None:
        """The whole schema of this tool was shown to the model."""
        self._read.add(_fingerprint(tool))

    def refusal(self, tool: Any) -> str | None:
        """What to tell a model that calls this tool too early; None when it may."""
        if not requires_full_schema(tool) or _fingerprint(tool) in self._read:
            return None
        name = texts(tool)[0]
        return f"{name} is {risk_of(tool)}: read its full schema with tool_info before calling it."


def _annotated(hints: Any, elsewhere: bool) -> Risk | None:
    """What MCP annotations say; None when they leave it open."""
    if not isinstance(hints, dict):
        return None
    if hints.get("readOnlyHint") is True:
        return "read_only"
    if hints.get("destructiveHint") is True:
        return "destructive"
    if hints.get("destructiveHint") is False:
        outside = hints.get("openWorldHint")
        if outside is False:
            return "write_local"
        if outside is True or elsewhere:
            return "write_remote"
    return None


def _spoken(name: str, description: str, elsewhere: bool) -> Risk:
    kinds, local = _verbs()
    in_name, in_text = _words(name), _words(description)
    found = [kinds[word] for word in in_name if word in kinds]
    found = found or [kinds[word] for word in in_text[:_VERB_WITHIN] if word in kinds]
    kind = found[0] if found else "write_remote"
    if not _JOINED.isdisjoint(in_name):
        kind = max(found, key=_KINDS.index, default=kind)
    if kind != "write":
        return kind  # type: ignore[return-value]
    if not local.isdisjoint(in_name):
        return "write_local"
    return (
        "write_remote" if elsewhere or local.isdisjoint(in_text[:_OBJECT_WITHIN]) else "write_local"
    )


def _words(text: str) -> list[str]:
    """Words in lower case, verbs without the ending of "deletes" or "searches"."""
    kinds, _ = _verbs()
    found = []
    for word in _WORD.findall(text):
        lower = word.lower()
        plain = (lower, lower.removesuffix("s"), lower.removesuffix("es"))
        found.append(next((form for form in plain if form in kinds), lower))
    return found


@cache
def _verbs() -> tuple[dict[str, str], frozenset[str]]:
    """Each verb's kind, and the nouns of things on the user's own machine."""
    table = data.load("risk")
    kinds = {verb: kind for kind, verbs in table["verbs"].items() for verb in verbs.split()}
    return kinds, frozenset(table["local"]["nouns"].split())


def _fingerprint(tool: Any) -> bytes:
    encoded = msgspec.json.encode(as_mapping(tool), order="sorted", enc_hook=str)
    return sha256(encoded).digest()
