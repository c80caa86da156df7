"""Keys of the state store: kind, tenant and names.

Every part is quoted, so no tenant and no name can collide with another's keys.
"""

from urllib.parse import quote, unquote

CATALOG = "catalog"
"""Kind of the unregistered tool lists, by digest."""

RECOMPILABLE = CATALOG + "/"
"""Prefix of keys whose values may be evicted, because callers send the tools again."""


def key(kind: str, tenant: str, *names: str) -> str:
    """Return a key; without names, the prefix of all keys of its kind and tenant."""
    return "/".join((kind, *(quote(part, safe="") for part in (tenant, *names))))


def last_name(whole: str) -> str:
    """Return the last name in a key."""
    return unquote(whole.rpartition("/")[2])
