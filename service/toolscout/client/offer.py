"""The tools of one call, by name.

A provider's built-in (a web search, a text editor, a cache point) cannot be ranked, is never sent,
and always stays. It has no name, or it has a `type` of its own and no schema.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any

from toolscout.errors import InvalidArgument
from toolscout.tools.shapes import (
    DECLARATIONS,
    ORDINARY_TYPES,
    as_mapping,
    declared,
    name_of,
    runs_at_provider,
)

_DECLARING = frozenset(DECLARATIONS)
_name_of = itemgetter("name")
_function_of = itemgetter("function")
_spec_of = itemgetter("toolSpec")


class Offer:
    """The tools of one call: each name once (the first wins), and the built-ins, `unnamed`."""

    __slots__ = ("_by_name", "_named", "names", "unnamed")

    def __init__(self, tools: Iterable[Any]) -> None:
        """Read the names.

        Raises:
            InvalidArgument: `tools` is not a sequence of tools.
            InvalidTool: one of them is no tool of any known shape.
        """
        if not isinstance(tools, Sequence) or isinstance(tools, str | bytes | bytearray):
            raise InvalidArgument.of("tools", "a sequence of tools", tools)
        self.unnamed: tuple[Any, ...] = ()
        self._by_name: dict[str, Any] | None = None
        flat = _flat(tools)
        names = _uniform_names(flat)
        if names is None and (split := _split(flat)) is not None:
            flat, others = split
            names = _uniform_names(flat)
            if names is not None:
                self.unnamed = others
        if names is not None:
            self.names, self._named = _each_once(names, flat)
            return
        by_name: dict[str, Any] = {}
        unnamed = []
        for number, tool in enumerate(tools):
            for one in _declared(tool, number):
                whole = as_mapping(one, f"tools[{number}]")
                name = name_of(whole)
                if name and not runs_at_provider(whole):
                    by_name.setdefault(name, one)
                else:
                    unnamed.append(one)
        self.names, self._named = tuple(by_name), tuple(by_name.values())
        self.unnamed = tuple(unnamed)

    @classmethod
    def unread(cls, tools: Sequence[Any]) -> "Offer":
        """Make an offer of tools that raise when they are read: all of them, without names."""
        offer = cls(())
        try:
            offer.unnamed = tuple(tool for tool in tools)  # needs no length
        except Exception:
            offer.unnamed = ()
        return offer

    @property
    def by_name(self) -> dict[str, Any]:
        """The tools that have a name, by it; made when first asked for."""
        if self._by_name is None:
            self._by_name = dict(zip(self.names, self._named, strict=True))
        return self._by_name

    @property
    def everything(self) -> tuple[Any, ...]:
        """All tools, each once."""
        return self._named + self.unnamed

    def keep(self, permit: Callable[[str], bool]) -> None:
        """Leave out the tools whose names are not permitted."""
        kept = [(name, tool) for name, tool in self.by_name.items() if permit(name)]
        self._by_name = dict(kept)
        self.names, self._named = tuple(self._by_name), tuple(self._by_name.values())

    def pick(self, names: Iterable[str]) -> tuple[Any, ...]:
        """The tools of these names in their order, then those without a name."""
        return (*map(self.by_name.__getitem__, names), *self.unnamed)


def _uniform_names(tools: Sequence[Any]) -> list[str] | None:
    """The names of tools that share one everyday shape, at the speed of C.

    None for all others: an open circuit is to cost next to nothing, however many tools there are.
    """
    try:
        first = tools[0]
        if "toolSpec" in first:
            names = list(map(_name_of, map(_spec_of, tools)))
        elif "name" in first:
            names = list(map(_name_of, tools))
            if not ORDINARY_TYPES.issuperset(map(dict.get, tools, repeat("type"))):
                return None
        else:
            names = list(map(_name_of, map(_function_of, tools)))
        "".join(names)  # fails unless all are texts
    except (KeyError, TypeError, IndexError, AttributeError):
        return None
    return None if "" in names else names


def _each_once(
    names: Sequence[str], tools: Sequence[Any]
) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Drop all but the first tool of each name."""
    if len(set(names)) == len(names):
        return tuple(names), tuple(tools)
    first = dict(zip(reversed(names), reversed(tools), strict=True))
    once = tuple(dict.fromkeys(names))
    return once, tuple(map(first.__getitem__, once))


def _flat(tools: Sequence[Any]) -> Sequence[Any]:
    """Replace Gemini's tools by their declarations; return other tools as they are."""
    for tool in (tools[0], tools[-1]) if tools else ():
        if isinstance(tool, dict) and not _DECLARING.isdisjoint(tool):
            return [one for number, tool in enumerate(tools) for one in _declared(tool, number)]
    return tools


def _declared(tool: Any, number: int) -> list[Any]:
    functions, rest = declared(tool, f"tools[{number}]")
    return [*functions, rest] if rest else functions


def _split(tools: Sequence[Any]) -> tuple[list[Any], tuple[Any, ...]] | None:
    """Tools of one shape, and the built-ins among them; None where it is not as simple as that."""
    try:
        wrapper = next((key for key in ("toolSpec", "function") if key in tools[0]), None)
        if wrapper is None:
            wrapper = next((key for key in ("toolSpec", "function") if key in tools[-1]), None)
        if wrapper is not None:
            plain = [tool for tool in tools if wrapper in tool]
            others = [tool for tool in tools if wrapper not in tool]
        else:
            plain = [t for t in tools if "name" in t and t.get("type") in ORDINARY_TYPES]
            others = [t for t in tools if "name" not in t or t.get("type") not in ORDINARY_TYPES]
        if not plain or any(name_of(t) and not runs_at_provider(t) for t in others):
            return None
    except (AttributeError, TypeError, IndexError):
        return None
    return plain, tuple(others)
