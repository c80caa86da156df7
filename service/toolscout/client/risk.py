"""How much harm a tool can do, and a gate before those that can do some.

A tool's `risk` is what it says itself, else what its MCP annotations say, else what the verbs in
its name say, else the first verb of its description. One that says nothing is a local write.
"""

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, get_args

import msgspec

from toolscout.client.tools import as_mapping, texts
from toolscout.contract import Risk

LEVELS: tuple[Risk, ...] = get_args(Risk)
"""From harmless to worst."""

_VERBS: dict[Risk, str] = {
    "read_only": """
        calculate check compare compute count describe diff download explain fetch find get glob
        grep inspect list lookup match matches open parse preview query read returns retrieve
        search select show shows stat summarize tail translate validate view watch
    """,
    "write_local": """
        add append archive compress copy create edit extract format generate insert make mkdir
        modify move patch put record rename replace resize save set store touch update write
    """,
    "write_remote": """
        approve assign book buy cancel charge close comment commit deploy execute invite invoke
        merge order pay post provision publish push release reply restart rollback run schedule
        send share start stop submit subscribe sync transfer trigger tweet upload
    """,
    "destructive": """
        clear delete destroy disable drop erase format_disk kill overwrite purge remove reset
        revoke shutdown terminate truncate uninstall unpublish wipe
    """,
}
_RISK_OF = {verb: risk for risk, verbs in _VERBS.items() for verb in verbs.split()}
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_REMOTE = re.compile(r"^mcp[._]|\.|__|:|/")
"""A name with a server before it: what it writes, it writes elsewhere."""


def risk_of(tool: Any) -> Risk:
    """The risk of a tool of any shape."""
    given = as_mapping(tool)
    risk = given.get("risk")
    if risk in LEVELS:
        return risk  # type: ignore[no-any-return]
    annotated = _annotated(given.get("annotations"))
    if annotated is not None:
        return annotated
    name, description = texts(tool)
    verbs = _risks(_WORD.findall(name)) or _risks(_WORD.findall(description))[:1]
    if not verbs:
        return "write_local"
    worst = max(verbs, key=LEVELS.index)
    return "write_remote" if worst == "write_local" and _REMOTE.search(name) else worst


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


def _annotated(hints: Any) -> Risk | None:
    """What MCP annotations say; None when they say nothing of writing."""
    if not isinstance(hints, dict):
        return None
    if hints.get("readOnlyHint") is True:
        return "read_only"
    if hints.get("destructiveHint") is True:
        return "destructive"
    if hints.get("readOnlyHint") is False or hints.get("destructiveHint") is False:
        return "write_local" if hints.get("openWorldHint") is False else "write_remote"
    return None


def _risks(words: Iterable[str]) -> list[Risk]:
    return [_RISK_OF[word.lower()] for word in words if word.lower() in _RISK_OF]


def _fingerprint(tool: Any) -> bytes:
    encoded = msgspec.json.encode(as_mapping(tool), order="sorted", enc_hook=str)
    return sha256(encoded).digest()
