"""Keys of the state store: what is kept, whose it is, and what it is called.

Every part is quoted, so no tenant and no name can reach into another's keys.
"""

from urllib.parse import quote, unquote

CATALOG = "catalog"
"""Kind of the lists that were compiled once, by digest."""

RECOMPILABLE = CATALOG + "/"
"""The beginning of keys whose values can be made again: whoever needs one sends its tools."""


def key(kind: str, tenant: str, *names: str) -> str:
    """The key of something; without names, the beginning of all keys of its kind and tenant."""
    return "/".join((kind, *(quote(part, safe="") for part in (tenant, *names))))


def last_name(whole: str) -> str:
    """The last name in a key."""
    return unquote(whole.rpartition("/")[2])
