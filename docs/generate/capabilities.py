"""docs/capabilities.md: what the package can do, who needs it, where it is, how large it is."""

import ast
import inspect
import io
import tokenize
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from docs.generate.calls import count_calls
from docs.generate.commands import commands, flags
from docs.generate.house import PACKAGE
from docs.generate.notes import WRITTEN, joined
from toolscout.client import Selector
from toolscout.contract.requests import SearchRequest
from toolscout.engine import Engine
from toolscout.gateway.mcp.servers import (
    FolderServer,
    HttpServer,
    OAuthClient,
    ServerOptions,
    StdioServer,
)
from toolscout.settings import SETTINGS
from toolscout.turns.config import ApiConfig, DiscoveryConfig
from toolscout.turns.drivers.flow import Flow

TESTS = PACKAGE.parents[1] / "tests"

TABLE = Path(__file__).with_name("capabilities.toml")

AIR = 1.05
"""By how much tokens and knobs may pass what the table says, until somebody decides on more."""

_KEYED: dict[str, tuple[Any, ...]] = {
    "keys of the proxy's file": (DiscoveryConfig, ApiConfig),
    "keys of the gateway's file": (
        ServerOptions,
        StdioServer,
        HttpServer,
        FolderServer,
        OAuthClient,
    ),
    "fields of a search": (SearchRequest,),
}
_PUBLIC = (Engine, Selector, Flow)

_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}

_INTRODUCTION = """Every file of the package belongs to one capability. The table is by hand
(`docs/generate/capabilities.toml`), the figures are of the day on which `make docs` was run last.
What is added names what it replaces; tokens and knobs may grow by 5 % before somebody decides on
more. Tokens are Python's, without comments and docstrings; knobs are the flags, settings, keys,
fields and public arguments that its files declare."""


class Capability(NamedTuple):
    """A row of the table."""

    name: str
    needs: str
    files: tuple[Path, ...]

    @property
    def tokens(self) -> int:
        """Tokens of its files."""
        return sum(len(code_tokens(path)) for path in self.files)

    @property
    def knobs(self) -> int:
        """What may be set in its files: settings, flags, keys, fields and arguments."""
        return sum(_count_knobs_in(path) for path in self.files)


class Table(NamedTuple):
    """The rows, and what all of them may take."""

    rows: list[Capability]
    tokens: int
    knobs: int


def read_table() -> Table:
    """Return the table by hand, with the files that it names."""
    table = tomllib.loads(TABLE.read_text("utf-8"))
    return Table([_capability(row) for row in table["row"]], table["tokens"], table["knobs"])


def _capability(row: dict[str, Any]) -> Capability:
    files = [path for name in row["files"] for path in sorted(PACKAGE.glob(f"{name}.py"))]
    return Capability(row["name"], row["needs"], tuple(files))


@cache
def code_tokens(path: Path) -> tuple[tokenize.TokenInfo, ...]:
    """Return the tokens of a file that are code, and no docstring."""
    source = path.read_text("utf-8")
    described = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return tuple(
        token
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in _NO_CODE and token.start[0] not in described
    )


def count_code_lines(path: Path) -> int:
    """Return how many lines of a file have a token of code."""
    tokens = code_tokens(path)
    return len({line for one in tokens for line in range(one.start[0], one.end[0] + 1)})


def count_knobs() -> Counter[str]:
    """Return how many things there are that somebody may set, by kind."""
    return Counter(
        {
            "settings": len(SETTINGS),
            "flags of commands": sum(len(flags(command)) for command in commands().values()),
            **{kind: _count_fields(*structs) for kind, structs in _KEYED.items()},
        }
    )


def count_arguments() -> Counter[str]:
    """Return how many arguments the public classes take."""
    return Counter({kind.__name__: len(_arguments_of(kind)) for kind in _PUBLIC})


def _count_fields(*structs: Any) -> int:
    return len({field for struct in structs for field in struct.__struct_fields__})


def _arguments_of(kind: type) -> list[str]:
    parameters = inspect.signature(kind).parameters.values()
    return [one.name for one in parameters if one.name != "self" and one.kind != one.VAR_KEYWORD]


def _count_knobs_in(path: Path) -> int:
    """Return how many flags and settings a file declares, and keys and arguments its classes."""
    calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if _declares(node)]
    structs = [one for several in _KEYED.values() for one in several]
    keys = [one for one in structs if inspect.getsourcefile(one) == str(path)]
    public = [one for one in _PUBLIC if inspect.getsourcefile(one) == str(path)]
    return len(calls) + _count_fields(*keys) + sum(len(_arguments_of(one)) for one in public)


def _declares(node: ast.AST) -> bool:
    """Whether a node is a call that adds a flag of a command, or describes a setting."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name) and node.func.id == "setting":
        return True
    first = node.args[0] if node.args else None
    return (
        isinstance(first, ast.Constant)
        and isinstance(first.value, str)
        and first.value.startswith("--")
    )


def page() -> str:
    """Return the whole page."""
    rows = read_table().rows
    lines = ["| capability | who needs it | files | tokens | knobs |", "|---|---|---|--:|--:|"]
    for row in rows:
        places = ", ".join(f"`{place}`" for place in _places(row))
        lines.append(
            f"| {row.name} | {row.needs} | {places} | {row.tokens:,} | {row.knobs or ''} |"
        )
    tokens = sum(row.tokens for row in rows)
    code_lines = sum(count_code_lines(path) for row in rows for path in row.files)
    lines.append(f"| **all** | | {sum(len(row.files) for row in rows)} files | **{tokens:,}** | |")
    knobs = [f"- {kind}: {count}" for kind, count in count_knobs().items()]
    knobs += [f"- arguments of `{kind}`: {count}" for kind, count in count_arguments().items()]
    inline, by_digest = count_calls()
    others = [
        f"- tokens a line of code: {tokens / code_lines:.1f}",
        f"- calls of functions of the package for a search of 300 known tools: {inline} inline, "
        f"{by_digest} by digest",
        f"- lines of tests: {sum(map(_count_lines, TESTS.rglob('*.py'))):,}",
    ]
    parts = [WRITTEN, "# Capabilities", _INTRODUCTION, "\n".join(lines)]
    return joined([*parts, "## Knobs", "\n".join(knobs), "## Sizes", "\n".join(others)])


def _count_lines(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def _places(row: Capability) -> list[str]:
    """Return the folders of a capability's files, and the files of those it has in part."""
    folders = Counter(path.parent for path in row.files)
    whole = {one for one in folders if folders[one] == len([*one.glob("*.py")])}
    places = dict.fromkeys(
        path.parent if path.parent in whole else path
        for path in row.files
        if path.stem != "__init__"
    )
    return [str(place.relative_to(PACKAGE).with_suffix("")) for place in places]
