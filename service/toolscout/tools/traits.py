"""What a tool says about itself beside its text: given by the caller, inferred where it is not.

The namespace comes from the name (`a.b`, `a__b`, `mcp__srv__tool`), the domain from words of the
taxonomy, the risk from MCP annotations or from verbs.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from toolscout import data
from toolscout.contract import ABSENT, Risk, Tool
from toolscout.errors import NOT_JSON
from toolscout.text.domains import Taxonomy
from toolscout.text.tokens import word_terms, words, words_to_terms
from toolscout.tools.documents import read_tool

_SEPARATORS = re.compile(r"__+|[.:/]+")
_PROTOCOLS = frozenset(("mcp", "acp", "a2a", "toolbus"))
"""Prefixes that say how a tool is reached, which is its source; the server behind it is the
namespace."""

_JOINED = frozenset(("and", "or"))

_VERB_WITHIN = 3
"""Terms of a description in which its verb stands: "This tool deletes"."""

_OBJECT_WITHIN = 8
"""Terms of a description in which the object of its verb stands."""

RISKS: tuple[Risk, ...] = ("read_only", "write_local", "write_remote", "destructive")
"""From harmless to dangerous."""


class Traits(msgspec.Struct, frozen=True, gc=False):
    """What filters, the domain prior and details look at; "" where nothing is known."""

    namespace: str = ""
    domain: str = ""
    tags: tuple[str, ...] = ()
    source: str = ""
    capabilities: tuple[str, ...] = ()
    risk: Risk = "write_remote"
    available: bool = True
    named_domains: tuple[str, ...] = ()
    """Domains that a word of the name or namespace tells; a filter takes them where the tool
    declares none."""


class Clues(msgspec.Struct, frozen=True, gc=False):
    """What the traits of a tool are inferred from, kept from when its text was read."""

    name: tuple[str, ...]
    """The terms of the name, in order."""
    description: tuple[str, ...]
    """The terms of the description, in order."""
    annotations: Mapping[str, Any] | None
    """The hints of MCP."""


def infer(tool: Tool, clues: Clues, taxonomy: Taxonomy) -> Traits:
    """The traits of a tool whose text was read already."""
    said = declared(tool)
    risk = tool.risk
    if risk is None and clues.annotations is not None:
        risk = _annotated_risk(clues.annotations, said.namespace)
    if risk is None:
        risk = _spoken_risk(clues.name, clues.description, said.namespace)
    domain = said.domain
    named: tuple[str, ...] = ()
    if not domain:
        domain = taxonomy.domain_of((*clues.name, *clues.description))
        named = taxonomy.domains_named(f"{said.namespace} {tool.name}")
    return msgspec.structs.replace(said, domain=domain, risk=risk, named_domains=named)


def declared(tool: Tool) -> Traits:
    """What a tool says of itself, and its namespace; domain and risk are not inferred."""
    return Traits(
        tool.namespace or namespace_in(tool.name),
        tool.domain or "",
        tool.tags or (),
        tool.source or source_in(tool.name),
        tool.capabilities or (),
        tool.risk or "write_remote",
        tool.status != "unavailable",
    )


def read_traits(tool: Tool, taxonomy: Taxonomy) -> Traits:
    """The traits of a tool that is not compiled; a definition that is not JSON says nothing."""
    try:
        document = read_tool(tool)
    except NOT_JSON:
        document = read_tool(msgspec.structs.replace(tool, definition=ABSENT, parameters=ABSENT))
    name = tuple(words_to_terms(words(document.name)))
    description = tuple(words_to_terms(words(document.description)))
    return infer(tool, Clues(name, description, document.annotations), taxonomy)


def namespace_in(name: str) -> str:
    """What stands before a tool's own name, its parts joined by dots; "" for a plain name."""
    if not ("__" in name or "." in name or ":" in name or "/" in name):
        return ""  # at once: nearly all names are plain
    parts = [part for part in _SEPARATORS.split(name) if part]
    if len(parts) > 2 and parts[0].lower() in _PROTOCOLS:
        parts = parts[1:]
    namespace = ".".join(parts[:-1])
    return namespace if any(map(str.isalpha, namespace)) else ""


def source_in(name: str) -> str:
    """The protocol that a name begins with, such as `mcp` in `mcp.k8s.apply`; "" without one."""
    if name.isidentifier() and "__" not in name:
        return ""  # at once: nearly all names are plain
    first, *rest = _SEPARATORS.split(name, maxsplit=1)
    return first.lower() if any(rest) and first.lower() in _PROTOCOLS else ""


def _annotated_risk(annotations: Mapping[str, Any], namespace: str) -> Risk | None:
    """What MCP hints say; None when they leave it open."""
    if annotations.get("readOnlyHint") is True:
        return "read_only"
    destructive = annotations.get("destructiveHint")
    if destructive is True:
        return "destructive"
    if destructive is False or annotations.get("readOnlyHint") is False:
        outside = annotations.get("openWorldHint")
        if destructive is False and outside is False:
            return "write_local"
        if destructive is False and (outside is True or namespace):
            return "write_remote"
    return None


def _spoken_risk(name: Sequence[str], description: Sequence[str], namespace: str) -> Risk:
    """By the first verb of the name, else of the description; by the worst of several in a name."""
    kinds, local = _verbs()
    found = [kinds[term] for term in name if term in kinds]
    if not found:
        found = [kinds[term] for term in description[:_VERB_WITHIN] if term in kinds][:1]
        if not found:
            return "write_remote"
    kind = found[0]
    if len(found) > 1 and not _JOINED.isdisjoint(name):
        kind = max(found)
    if kind != _WRITE:
        return _RISK_OF[kind]
    if not local.isdisjoint(name):
        return "write_local"
    if namespace or local.isdisjoint(description[:_OBJECT_WITHIN]):
        return "write_remote"
    return "write_local"


_WRITE = 1
_RISK_OF: dict[int, Risk] = {0: "read_only", 2: "write_remote", 3: "destructive"}


@cache
def _verbs() -> tuple[dict[str, int], frozenset[str]]:
    """Each verb's kind, by term, harmless first; and the nouns of things on the own machine."""
    table = data.load("risk")
    kinds: dict[str, int] = {}
    for kind, name in enumerate(("read_only", "write", "write_remote", "destructive")):
        kinds.update(dict.fromkeys(_terms(table["verbs"][name].split()), kind))
    return kinds, frozenset(_terms(table["local"]["nouns"].split()))


def _terms(found: Iterable[str]) -> list[str]:
    return [word_terms(word)[-1] for word in found]
