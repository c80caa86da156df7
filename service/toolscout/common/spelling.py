"""Spellings of a tool's name: case, accents, separators and prefixes do not tell names apart.

The standard library is enough for it, so the client and the service compare names alike.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase

SEPARATORS = re.compile(r"__+|[.:/]+")
"""Separators of a server or namespace from the tool's own name."""

MAXSEPARATORS = 16
"""Maximum number of separators, counted from the end, after which a name may begin: a name of 1,024
characters could have 511, and a form for each."""

_PREFIXED = re.compile(r"(?s)^(.*)(?:__|[.:/])(?=.)")
_JOINTS = re.compile(r"[\W_]+")
_LATIN_ACCENTS = re.compile(r"[\u0300-\u036f]")


def normalise(text: str) -> str:
    """Compatibility-normalise (NFKC); ASCII text is returned as it is."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def fold(text: str) -> str:
    """Case-fold and drop Latin, Greek and Cyrillic accents: `Café` becomes `cafe`."""
    if text.isascii():
        return text.lower()
    bare = _LATIN_ACCENTS.sub("", unicodedata.normalize("NFD", text.casefold()))
    return unicodedata.normalize("NFC", bare)


def make_key(written: str) -> str:
    """Return what all spellings of a name share: its letters and digits, folded."""
    return fold(written) if written.isalnum() else fold(_JOINTS.sub("", written))


def list_forms(name: str) -> tuple[str, ...]:
    """Return the keys of a name: of the whole name, then without each of its prefixes.

    The list is empty for a name without a letter or digit.
    """
    if name.isascii() and is_one_piece(name):
        form = name.replace("_", "").lower()
        return (form,) if form else ()
    parts = [make_key(part) for part in SEPARATORS.split(normalise(name))]
    last = range(max(1, len(parts) - MAXSEPARATORS), len(parts))
    keys = ["".join(parts), *("".join(parts[i:]) for i in last)]
    return tuple(form for form in dict.fromkeys(keys) if form)


def find_prefix(name: str) -> str:
    """Return the prefix before a tool's own name: `mcp__git` of `mcp__git__push`."""
    if is_one_piece(name):
        return ""
    match = _PREFIXED.match(name)
    return match[1] if match else ""


def is_one_piece(name: str) -> bool:
    """Whether a name has no prefix; most have none, and this check needs no regular expression."""
    return name.isidentifier() and "__" not in name


_PROTOCOLS = frozenset(("mcp", "acp", "a2a", "toolbus"))
"""Prefixes that name a protocol, the tool's source; the next part is the namespace."""


def find_namespace(name: str) -> str:
    """Return the prefix of a tool's name, its parts joined by dots; "" for a plain name."""
    if not ("__" in name or "." in name or ":" in name or "/" in name):
        return ""  # at once: nearly all names are plain
    parts = [part for part in SEPARATORS.split(name) if part]
    if len(parts) > 2 and parts[0].lower() in _PROTOCOLS:
        parts = parts[1:]
    namespace = ".".join(parts[:-1])
    return namespace if any(map(str.isalpha, namespace)) else ""


def find_source(name: str) -> str:
    """Return the protocol of a name, such as `mcp` in `mcp.k8s.apply`; "" without one."""
    if is_one_piece(name):
        return ""  # at once: nearly all names are plain
    first, *rest = SEPARATORS.split(name, maxsplit=1)
    return first.lower() if any(rest) and first.lower() in _PROTOCOLS else ""


OF_SERVER = "server:"
"""How a word begins that wants all tools of a server."""


def match_names(patterns: Iterable[str], names: Collection[str]) -> list[str]:
    """Return the names that are wanted, in the order in which they are.

    Args:
        patterns: names, patterns as of file names (`github__*`), or servers (`server:github`).
        names: those that there are.
    """
    matches: dict[str, None] = {}
    for one in patterns:
        if one in names:
            matches[one] = None
        elif one.startswith(OF_SERVER):
            server = one.removeprefix(OF_SERVER).casefold()
            of_server = (name for name in names if _is_of(server, find_namespace(name).casefold()))
            matches |= dict.fromkeys(of_server)
        elif "*" in one or "?" in one:
            matches |= dict.fromkeys(name for name in names if fnmatchcase(name, one))
    return list(matches)


def _is_of(server: str, namespace: str) -> bool:
    return bool(server) and f"{namespace}.".startswith(f"{server}.")
