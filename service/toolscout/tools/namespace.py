"""Find the namespace (server or package) and the protocol in the prefix of a tool's name."""

from toolscout.common.spelling import SEPARATORS, is_one_piece

_PROTOCOLS = frozenset(("mcp", "acp", "a2a", "toolbus"))
"""Prefixes that name a protocol, the tool's source; the next part is the namespace."""


def namespace_in(name: str) -> str:
    """Return the prefix of a tool's name, its parts joined by dots; "" for a plain name."""
    if not ("__" in name or "." in name or ":" in name or "/" in name):
        return ""  # at once: nearly all names are plain
    parts = [part for part in SEPARATORS.split(name) if part]
    if len(parts) > 2 and parts[0].lower() in _PROTOCOLS:
        parts = parts[1:]
    namespace = ".".join(parts[:-1])
    return namespace if any(map(str.isalpha, namespace)) else ""


def source_in(name: str) -> str:
    """Return the protocol of a name, such as `mcp` in `mcp.k8s.apply`; "" without one."""
    if is_one_piece(name):
        return ""  # at once: nearly all names are plain
    first, *rest = SEPARATORS.split(name, maxsplit=1)
    return first.lower() if any(rest) and first.lower() in _PROTOCOLS else ""
