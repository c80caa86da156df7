"""The rooms of the package and what imports what, read from the source."""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "service" / "toolscout"
TEMPLATE = Path(__file__).with_name("architecture.template")

ROOMS: tuple[tuple[str, ...], ...] = (
    ("cli",),
    ("gateway", "integrations", "searching"),
    ("terminal",),
    ("server",),
    ("client", "playground"),
    ("learning",),
    ("engine", "state"),
    ("ranking",),
    ("index", "metatools"),
    ("tools",),
    ("text",),
    ("serving", "settings_sources"),
    ("settings",),
    ("contract", "data"),
    ("common",),
    ("errors",),
)
"""Floors from top to bottom. A room imports from floors below its own, and from no other."""

CLIENT_MAY_IMPORT = {"common", "contract", "data", "errors", "metatools", "text", "tools"}


def modules() -> dict[str, Path]:
    """Find every module by its name below the package, such as `ranking.ask`."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        found[name.removesuffix(".__init__").removesuffix("__init__")] = path
    return found


def imports() -> Iterator[tuple[str, str]]:
    """Yield every import of one module by another, those for types only included."""
    known = modules()
    for name, path in known.items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("toolscout"):
                below = str(node.module).removeprefix("toolscout").removeprefix(".")
                for each in node.names:
                    target = f"{below}.{each.name}".removeprefix(".")
                    yield name, target if target in known else below


def room(module: str) -> str:
    """The room of a module: its folder, or itself where it lies beside them."""
    return module.partition(".")[0]


def arrows() -> dict[str, set[str]]:
    """Which rooms each room imports from."""
    found: dict[str, set[str]] = {name: set() for floor in ROOMS for name in floor}
    for source, target in imports():
        here, there = room(source), room(target)
        if here in found and there in found and here != there:
            found[here].add(there)
    return found


def page() -> str:
    """Write `docs/architecture.md`."""
    return TEMPLATE.read_text("utf-8").replace("{picture}", picture())


def picture() -> str:
    """Draw the rooms, floor by floor, with the arrows that no other path implies."""
    direct = arrows()
    lines = ["```mermaid", "flowchart TD"]
    for number, floor in enumerate(ROOMS):
        lines.append(f"    subgraph floor{number} [ ]")
        lines += [f"        {name}" for name in floor]
        lines.append("    end")
    for name, below in direct.items():
        implied = {further for each in below for further in _reachable(each, direct)}
        lines += [f"    {name} --> {each}" for each in sorted(below - implied)]
    return "\n".join([*lines, "```"])


def _reachable(start: str, direct: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = direct[waiting.pop()] - found
        found |= new
        waiting += new
    return found
