"""Tools of any shape: their names, texts and schemas.

OpenAI (chat and Responses), Anthropic, MCP, Gemini and Bedrock tools, as mappings, dataclasses,
msgspec structs or pydantic models. A provider's built-in (a web search, a text editor, a cache
point) cannot be ranked, is never sent, and always stays. It has no name, or it has a `type` of its
own and no schema.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any

import msgspec

from toolscout.client.errors import InvalidArgument, InvalidTool

WRAPPERS = ("function", "toolSpec", "tool")
_SCHEMAS = ("parameters", "input_schema", "inputSchema", "argument_schema")
_DECLARATIONS = ("functionDeclarations", "function_declarations")
_DECLARING = frozenset(_DECLARATIONS)
_name_of = itemgetter("name")
_function_of = itemgetter("function")
_spec_of = itemgetter("toolSpec")
_ORDINARY = {None, "function"}
"""Types of tools that are functions whatever else they hold; `custom` means one thing to Anthropic
and another to OpenAI."""


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
            for one in _declarations(tool, number):
                whole = as_mapping(one, number)
                name = _text(core_of(whole).get("name"))
                if name and not _is_builtin(whole):
                    by_name.setdefault(name, one)
                else:
                    unnamed.append(one)
        self.names, self._named = tuple(by_name), tuple(by_name.values())
        self.unnamed = tuple(unnamed)

    @classmethod
    def unread(cls, tools: Sequence[Any]) -> "Offer":
        """Tools that raise when they are looked at: all of them, without names."""
        offer = cls(())
        try:
            offer.unnamed = tuple(tool for tool in tools)  # asks for no length
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


def as_mapping(tool: Any, number: int = 0) -> Mapping[str, Any]:
    """One tool as a mapping, without copying where it is one already.

    Raises:
        InvalidTool: it is neither a mapping, a dataclass, a struct nor a pydantic model.
    """
    if isinstance(tool, Mapping):
        return tool
    try:
        found = _dumped(tool)
    except Exception as error:
        raise InvalidTool(f"tools[{number}]: cannot be read ({type(error).__name__})") from error
    if isinstance(found, dict):
        return found
    raise InvalidTool.of(f"tools[{number}]", "a mapping, dataclass or model", tool)


def _dumped(tool: Any) -> Any:
    if dataclasses.is_dataclass(tool) and not isinstance(tool, type):
        return dataclasses.asdict(tool)
    if isinstance(tool, msgspec.Struct):
        return msgspec.to_builtins(tool)
    dump = getattr(tool, "model_dump", None)
    if callable(dump) and not isinstance(tool, type):
        # As it goes over the wire: aliases (`inputSchema`), no nulls.
        return dump(mode="json", by_alias=True, exclude_none=True)
    return None


def texts(tool: Any) -> tuple[str, str]:
    """Name and description of a tool, empty where it has none."""
    core = core_of(as_mapping(tool))
    return _text(core.get("name")), _text(core.get("description"))


def schema(tool: Any) -> Mapping[str, Any]:
    """The JSON Schema of a tool's input, empty where it has none."""
    core = core_of(as_mapping(tool))
    for key in _SCHEMAS:
        found = core.get(key)
        if isinstance(found, Mapping):
            nested = found.get("json")  # Bedrock's extra level
            return nested if isinstance(nested, Mapping) else found
    return {}


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
            if not _ORDINARY.issuperset(map(dict.get, tools, repeat("type"))):
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
    """Names and tools without the later ones of each name."""
    if len(set(names)) == len(names):
        return tuple(names), tuple(tools)
    first = dict(zip(reversed(names), reversed(tools), strict=True))
    once = tuple(dict.fromkeys(names))
    return once, tuple(map(first.__getitem__, once))


def _flat(tools: Sequence[Any]) -> Sequence[Any]:
    """Gemini's declarations in the place of the tools that hold them; else the tools themselves."""
    for tool in (tools[0], tools[-1]) if tools else ():
        if isinstance(tool, dict) and not _DECLARING.isdisjoint(tool):
            return [one for number, tool in enumerate(tools) for one in _declarations(tool, number)]
    return tools


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
            plain = [t for t in tools if "name" in t and t.get("type") in _ORDINARY]
            others = [t for t in tools if "name" not in t or t.get("type") not in _ORDINARY]
        if not plain or any(_text(core_of(t).get("name")) and not _is_builtin(t) for t in others):
            return None
    except (AttributeError, TypeError, IndexError):
        return None
    return plain, tuple(others)


def _is_builtin(tool: Mapping[str, Any]) -> bool:
    """Whether a tool that has a name is run by the provider, or takes no arguments by a schema.

    Anthropic's `{"type": "bash_20250124", "name": "bash"}`; of OpenAI's Responses also
    `{"type": "custom", "name": …}`, which takes free text, unlike Anthropic's type of that name.
    """
    kind = tool.get("type")
    if not isinstance(kind, str) or kind in _ORDINARY or core_of(tool) is not tool:
        return False
    return not any(isinstance(tool.get(key), Mapping) for key in _SCHEMAS)


def _declarations(tool: Any, number: int) -> list[Any]:
    """Gemini wraps several functions in one tool; elsewhere a tool is one function."""
    if not isinstance(tool, Mapping) or _DECLARING.isdisjoint(tool):
        return [tool]
    found: list[Any] = []
    for key in _DECLARATIONS:
        declared = tool.get(key) or []
        if not isinstance(declared, list | tuple):
            raise InvalidTool.of(f"tools[{number}].{key}", "a list", declared)
        found += declared
    others = {key: value for key, value in tool.items() if key not in _DECLARING}
    return [*found, others] if others else found


def core_of(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of a tool that carries its name."""
    for key in WRAPPERS:
        inner = tool.get(key)
        if isinstance(inner, Mapping):
            return inner
    return tool


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
