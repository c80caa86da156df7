"""Traits of a tool: declared by the caller, else inferred.

The namespace comes from the name (`a.b`, `a__b`, `mcp__srv__tool`), the domain from the namespace
or from words of the taxonomy, the risk from MCP annotations or from verbs.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from toolscout.common.spelling import find_namespace, find_source
from toolscout.contract.fields import ABSENT, Risk
from toolscout.contract.tools import Tool
from toolscout.errors import NOT_JSON
from toolscout.text.domains import Taxonomy
from toolscout.text.tokens import analyse_words, split_words
from toolscout.tools.documents import read_tool
from toolscout.tools.risk import PURPOSE_CHARS, judge_risk


class Traits(msgspec.Struct, frozen=True, gc=False):
    """The traits that filters, the domain prior and details use; "" if unknown."""

    namespace: str = ""
    domain: str = ""
    tags: tuple[str, ...] = ()
    source: str = ""
    capabilities: tuple[str, ...] = ()
    risk: Risk = "write_remote"
    available: bool = True
    server_domain: str = ""
    """The domain that the namespace or the protocol indicates, if none is declared; too little to
    order tools by."""
    named_domains: tuple[str, ...] = ()
    """Domains indicated by a word of the name or namespace; filters use them if none is declared.
    """

    @property
    def shown_domain(self) -> str:
        """The domain to show: declared, else of the server, else inferred from the words."""
        return self.server_domain or self.domain


EFFECTS: Mapping[Risk, tuple[str, ...]] = {
    "read_only": ("read",),
    "write_local": ("write",),
    "write_remote": ("write",),
    "destructive": ("write", "delete"),
}
"""The capabilities of tools that declare none, by their risk."""


class Clues(msgspec.Struct, frozen=True, gc=False):
    """The parts of a tool's text from which its traits are inferred."""

    terms: tuple[str, ...]
    """Of name and description, those that tell a domain."""
    purpose: str
    """The beginning of the description."""
    annotations: Mapping[str, Any] | None
    """The hints of MCP."""


_encode_clues = msgspec.msgpack.Encoder().encode
_decode_clues = msgspec.msgpack.Decoder(Clues).decode


def pack_clues(clues: Clues) -> bytes:
    """Pack clues into few bytes, because most are never read."""
    return _encode_clues(clues)


def unpack_clues(packed: bytes) -> Clues:
    """Unpack clues."""
    return _decode_clues(packed)


def infer(tool: Tool, clues: Clues, taxonomy: Taxonomy) -> Traits:
    """Infer the traits of a tool whose text has been read."""
    own = read_declared(tool)
    level = own.risk
    if tool.risk is None:
        elsewhere = bool(own.namespace)
        level = judge_risk(tool.name, clues.purpose, clues.annotations, is_elsewhere=elsewhere)
    domain = own.domain
    named: tuple[str, ...] = ()
    if not domain:
        domain = taxonomy.domain_of(clues.terms)
        named = taxonomy.domains_named(f"{own.namespace} {tool.name}")
    spaces = (own.namespace, own.source)
    server = "" if own.domain else next(filter(None, map(taxonomy.domain_of_namespace, spaces)), "")
    return msgspec.structs.replace(
        own,
        domain=domain,
        server_domain=server,
        risk=level,
        named_domains=named,
        capabilities=own.capabilities or EFFECTS[level],
    )


def read_declared(tool: Tool) -> Traits:
    """Return the declared traits and the namespace; domain and risk are not inferred."""
    return Traits(
        tool.namespace or find_namespace(tool.name),
        tool.domain or "",
        tool.tags or (),
        tool.source or find_source(tool.name),
        tool.capabilities or (),
        tool.risk or "write_remote",
        tool.status != "unavailable",
    )


def read_traits(tool: Tool, taxonomy: Taxonomy) -> Traits:
    """Return the traits of a tool that is not compiled; ignore a definition that is not JSON."""
    try:
        document = read_tool(tool)
    except NOT_JSON:
        document = read_tool(msgspec.structs.replace(tool, definition=ABSENT, parameters=ABSENT))
    terms = analyse_words([*split_words(document.name), *split_words(document.description)])
    purpose = document.description[:PURPOSE_CHARS]
    return infer(tool, Clues(tuple(terms), purpose, document.annotations), taxonomy)
