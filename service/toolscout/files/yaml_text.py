"""YAML as OpenAPI has it: version 1.2, whose core schema knows no dates and no `NO` for false.

PyYAML reads YAML 1.1, so plain words are resolved here by the rules of 1.2, and keys are the texts
that stand there: `on`, `2024`. ruamel.yaml reads 1.2, in Python alone, and takes four times as long
as PyYAML's C parser (10 MB: 20 and 5 s). https://yaml.org/spec/1.2.2/#103-core-schema
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from math import isfinite
from typing import Any, ClassVar

from toolscout.common.optional import write_install_command
from toolscout.errors import ConfigurationError, InvalidJson

MAX_DEPTH = 500
"""Levels of a document."""

MAX_VALUES = 5_000_000
"""Values of a document, aliases counted as what they stand for: 100 MB as they are written."""

_TAG = "tag:yaml.org,2002:"

_PLAIN = (
    ("merge", re.compile(r"<<"), "<"),
    ("null", re.compile(r"~|null|Null|NULL|"), ["~", "n", "N", ""]),
    ("bool", re.compile(r"true|True|TRUE|false|False|FALSE"), "tTfF"),
    ("int", re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"), "-+0123456789"),
    (
        "float",
        re.compile(
            r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
            r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
        ),
        "-+.0123456789",
    ),
)
"""What plain words of a form are, and the characters that these begin with."""


def read_yaml(text: str, shown: str) -> Any:
    """Return the values of a YAML document, with texts as keys; `shown` is its name in errors.

    Raises:
        ConfigurationError: PyYAML is not installed.
        InvalidJson: it is no YAML; the message has line and column.
    """
    try:
        import yaml
    except ImportError:
        raise ConfigurationError(f"reading YAML needs: {write_install_command('yaml')}") from None
    loader = _make_loader()
    try:
        _check_size(yaml.parse(text, loader), shown)
        return yaml.load(text, loader)  # noqa: S506  # it makes plain values alone
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or error
        raise InvalidJson(f"{shown}{place}: not valid YAML: {problem}") from None
    except RecursionError:
        raise InvalidJson(f"{shown}: not valid YAML: nested too deeply") from None


def _check_size(events: Iterable[Any], shown: str) -> None:
    """Check that a document is neither nested too deeply nor without end once it is written out.

    The composer recurses in C until the process dies, and aliases of aliases stand for billions.

    Raises:
        InvalidJson: it is.
    """
    from yaml import AliasEvent, CollectionEndEvent, CollectionStartEvent, NodeEvent

    sizes: dict[str, int] = {}
    open_nodes: list[tuple[str | None, int]] = []
    values = 0
    for event in events:
        if isinstance(event, CollectionEndEvent):
            anchor, before = open_nodes.pop()
            if anchor is not None:
                sizes[anchor] = values - before
        elif isinstance(event, AliasEvent):
            if any(anchor == event.anchor for anchor, _ in open_nodes):
                raise InvalidJson(f"{shown}: not valid YAML: {event.anchor} holds itself")
            values += sizes.get(str(event.anchor), 1)
        elif isinstance(event, NodeEvent):
            values += 1
            if isinstance(event, CollectionStartEvent):
                open_nodes.append((event.anchor, values))
        if len(open_nodes) > MAX_DEPTH:
            raise InvalidJson(f"{shown}: not valid YAML: nested more than {MAX_DEPTH} levels deep")
        if values > MAX_VALUES:
            raise InvalidJson(f"{shown}: its YAML stands for more than {MAX_VALUES:,} values")


@cache
def _make_loader() -> Any:
    """Make the loader once: PyYAML is imported only where there is YAML."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Core12Loader(base):  # type: ignore[misc]
        yaml_implicit_resolvers: ClassVar[dict[str, list[Any]]] = {}

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
            self.flatten_mapping(node)
            made = {}
            for key, value in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    problem = "a key that is no text"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                made[key.value] = self.construct_object(value, deep=deep)
            return made

    for kind, pattern, begins in _PLAIN:
        whole = re.compile(rf"(?:{pattern.pattern})\Z")
        Core12Loader.add_implicit_resolver(_TAG + kind, whole, list(begins))
    Core12Loader.add_constructor(_TAG + "int", _construct_integer)
    Core12Loader.add_constructor(_TAG + "float", _construct_number)
    for kind in ("timestamp", "binary"):
        Core12Loader.add_constructor(_TAG + kind, _construct_text)
    for kind in ("set", "omap", "pairs"):
        del Core12Loader.yaml_constructors[_TAG + kind]
    return Core12Loader


def _construct_integer(loader: Any, node: Any) -> int | str:
    """Read an integer, in which a leading zero says nothing; one of thousands of digits is text."""
    text: str = loader.construct_scalar(node)
    with suppress(ValueError):
        return int(text, 0 if text[1:2] in "ox" and text[1:2] else 10)
    return text


def _construct_number(loader: Any, node: Any) -> float | str:
    """Read a number; what is none in JSON, such as `.inf`, is text."""
    text: str = loader.construct_scalar(node)
    with suppress(ValueError):
        number = float(text)
        return number if isfinite(number) else text
    return text


def _construct_text(loader: Any, node: Any) -> str:
    text: str = loader.construct_scalar(node)
    return text
