"""The tools of one call, by name.

A provider's built-in (a web search, a text editor, a cache point) cannot be ranked, is never sent,
and always stays. It has no name, or it has a `type` of its own and no schema.
"""

import copy
import re
from collections import ChainMap, Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import compress, repeat
from operator import itemgetter
from typing import Any, TypeVar

import msgspec

from toolscout.tools import shapes

T = TypeVar("T")

MAX_MADE = 12
"""Things that an offer remembers of its tools."""

MARKER = "cache_control"
"""Key of a tool, a message or a part of one with which the cached part of a prompt ends."""

ENDS_A_RUN = re.compile(r"final_result.*|final_answer|transfer_to_.*")
"""Tools without which an agent cannot finish, however far they are from what the user asks.

pydantic-ai takes its structured output by a call of `final_result`, smolagents every answer by
one of `final_answer`, and agents hand a conversation over by `transfer_to_…`. Frameworks that name
such a tool after the user's own class (LangChain) put it last, and require a call.
"""

_WRAPPERS = ("toolSpec", "function")
_name_of = itemgetter("name")


class Offer:
    """The tools of one call: each name once (the first wins), and the items without, `unnamed`.

    Those are built-ins, and what is no tool of any known shape; `odd` has the positions of these.
    It does not change, so what is made of the tools `once` is known for as long as they are.
    """

    def __init__(self, tools: Any) -> None:
        """Read the names; what is no list of tools, such as a text, is the only item of one."""
        self._by_name: dict[str, Any] | None = None
        self._made: dict[Any, Any] = {}
        self.is_known = False
        """Whether all who send these tools get this offer."""
        self.equal: Offer | None = None
        """The known offer of equal tools, once it was looked for."""
        self.odd: tuple[int, ...] = ()
        self.visible: Offer | None = None
        """Tools that the model sees already; they are searched only where none of these fits."""
        tools = _list_items(tools)
        try:
            self._items = _unfold(tools)
            names, named, unnamed = _read_alike(self._items)
        except Exception:  # tools of several shapes, and whatever a caller's object raises
            names, named, unnamed = self._read_each(tools)
        self.unnamed = tuple(unnamed)
        if len(set(names)) < len(names):
            first = dict(zip(reversed(names), reversed(named), strict=True))
            names = list(dict.fromkeys(names))
            named = [first[name] for name in names]
        self.names = tuple(names)
        self._named = tuple(named)

    @classmethod
    def of(cls, tools: Any) -> "Offer":
        """Return an offer as it is, and one of anything else."""
        return tools if isinstance(tools, Offer) else cls(tools)

    def __len__(self) -> int:
        return len(self._items)

    def _read_each(self, tools: Sequence[Any]) -> tuple[list[str], list[Any], list[Any]]:
        """Read tools of several shapes one by one."""
        read: list[tuple[str, Any]] = []
        odd = []
        for number, tool in enumerate(tools):
            try:
                read += [(_find_searched_name(one), one) for one in _declare(tool, number)]
            except Exception:
                read.append(("", tool))
                odd.append(number)
        self.odd = tuple(odd)
        self._items = [tool for _, tool in read]
        named = [(name, tool) for name, tool in read if name]
        unnamed = [tool for name, tool in read if not name]
        return [name for name, _ in named], [tool for _, tool in named], unnamed

    @property
    def by_name(self) -> dict[str, Any]:
        """The tools that have a name, by it; made when first asked for."""
        if self._by_name is None:
            self._by_name = dict(zip(self.names, self._named, strict=True))
        return self._by_name

    def once(self, what: Any, make: Callable[[], T]) -> T:
        """Return what is made of the tools, made when it is first asked for."""
        kept: T | None = self._made.get(what)
        if kept is not None:
            return kept
        made = make()
        if len(self._made) >= MAX_MADE:  # callers of one list may have had different tools refused
            self._made.clear()
        self._made[what] = made
        return made

    @property
    def all_by_name(self) -> Mapping[str, Any]:
        """The tools by their names, visible ones among them."""
        if self.visible is None:
            return self.by_name
        return ChainMap(self.by_name, self.visible.by_name)

    def matching(self, patterns: Sequence[str]) -> Sequence[str]:
        """Return the names that names, patterns and servers want, visible tools among them."""
        tools = self.all_by_name
        if all(name in tools for name in patterns):
            return patterns
        from toolscout.common.spelling import match_names  # not loaded for nothing

        return self.once(("matching", *patterns), lambda: match_names(patterns, tools.keys()))

    def share(self, other: "Offer") -> None:
        """Share what is made once with an offer of tools that equal these."""
        self._made = other._made
        self.equal = other

    @property
    def everything(self) -> tuple[Any, ...]:
        """All items in their order, tools of one name once."""
        if not self.unnamed:
            return self._named
        left = Counter(map(id, (*self._named, *self.unnamed)))
        kept = []
        for item in self._items:
            if left[id(item)]:
                left[id(item)] -= 1
                kept.append(item)
        return tuple(kept)

    def digest(self) -> bytes:
        """Return a hash of the definitions, whatever their order, and wherever a marker stands."""
        return self.once("digest", self._hashed)

    def _hashed(self) -> bytes:
        definitions = sorted(write_definition(name, tool) for name, tool in self.by_name.items())
        return sha256(b"\n".join(definitions)).digest()

    def endings(self, must_call: bool) -> tuple[str, ...]:
        """Return the names of tools that end a run, which no search may hide.

        Args:
            must_call: whether the model has to call a tool, so that the last one may be its answer.
        """
        ending = self.once("endings", lambda: tuple(filter(ENDS_A_RUN.fullmatch, self.names)))
        return (*ending, *self.names[-1:]) if must_call else ending

    def without(self, names: Collection[str]) -> "Offer":
        """Return an offer of the other tools."""
        if self.all_by_name.keys().isdisjoint(names):
            return self
        kept = {name: tool for name, tool in self.by_name.items() if name not in names}
        left = copy.copy(self)
        left._by_name = kept
        left.names = tuple(kept)
        left._named = tuple(kept.values())
        left._made = {}
        left.equal = None
        left.visible = self.visible and self.visible.without(names)
        return left

    def beside(self, visible: Collection[str]) -> "Offer":
        """Return an offer of the other tools with these as visible ones.

        Where there are no others it is this offer.
        """
        left = self.without(visible)
        if left is self or not left.names:
            return self
        left.visible = self.without(left.by_name)
        return left

    def pick(self, names: Iterable[str]) -> tuple[Any, ...]:
        """Return the tools of these names in their order, then those without a name."""
        return (*map(self.all_by_name.__getitem__, names), *self.unnamed)


def _list_items(tools: Any) -> Sequence[Any]:
    """Return the items of a sequence; of anything else, it is the only one."""
    if isinstance(tools, str | bytes | bytearray | Mapping) or not isinstance(tools, Iterable):
        return () if tools is None else (tools,)
    if type(tools) in (list, tuple):
        return tools  # type: ignore[return-value]
    return [tool for tool in tools]  # noqa: C416 - `list` asks for a length, which may raise


def _find_searched_name(tool: Any) -> str:
    """Return the name of a tool; empty for a built-in."""
    fields = shapes.as_mapping(tool)
    return "" if shapes.is_run_by_provider(fields) else shapes.name_of(fields)


def write_definition(name: str, tool: Any) -> bytes:
    """Return a definition as JSON, or its name alone if it cannot be encoded."""
    try:
        content = {key: value for key, value in shapes.as_mapping(tool).items() if key != MARKER}
        return msgspec.json.encode(content, order="sorted")
    except Exception:
        return name.encode("utf-8", "replace")


def _read_alike(tools: Sequence[Any]) -> tuple[Sequence[str], Sequence[Any], Sequence[Any]]:
    """Return names, tools and built-ins of a list whose tools have one everyday shape.

    Fast, because an open circuit has to cost almost nothing, however many tools there are.

    Raises:
        Exception: it is not as simple as that.
    """
    wrapper = next((k for tool in (*tools[:1], *tools[-1:]) for k in _WRAPPERS if k in tool), "")
    with suppress(KeyError, ValueError):
        return _list_names(tools, wrapper), tools, ()
    if wrapper:
        fits = [wrapper in tool for tool in tools]
    else:
        fits = ["name" in tool and tool.get("type") in shapes.ORDINARY_TYPES for tool in tools]
    named = list(compress(tools, fits))
    builtins = [tool for tool, is_named in zip(tools, fits, strict=True) if not is_named]
    if any(_find_searched_name(one) or shapes.is_declaring(one) for one in builtins):
        raise ValueError("tools of several shapes")
    return _list_names(named, wrapper), named, builtins


def _list_names(tools: Sequence[Any], wrapper: str) -> list[str]:
    """Return the names of functions, at the speed of C.

    Raises:
        Exception: they are not all functions of that shape.
    """
    names = [*map(_name_of, map(itemgetter(wrapper), tools) if wrapper else tools)]
    if not wrapper and not shapes.ORDINARY_TYPES.issuperset(map(dict.get, tools, repeat("type"))):
        raise ValueError("a built-in")
    "".join(names)  # fails unless all are texts
    if "" in names:
        raise ValueError("no name")
    return names


def _unfold(tools: Sequence[Any]) -> Sequence[Any]:
    """Replace Gemini's tools by their declarations; return other tools as they are."""
    for tool in (tools[0], tools[-1]) if tools else ():
        if shapes.is_declaring(tool):
            return [one for number, tool in enumerate(tools) for one in _declare(tool, number)]
    return tools


def _declare(tool: Any, number: int) -> list[Any]:
    functions, rest = shapes.unfold_declared(tool, f"tools[{number}]")
    return [*functions, rest] if rest else functions
