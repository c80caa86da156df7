"""The rooms of the package and what imports what, read from the source."""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[2] / "service" / "toolscout"
TEMPLATE = Path(__file__).with_name("architecture.template")

ROOMS: tuple[tuple[str, ...], ...] = (
    ("cli",),
    ("gateway", "integrations"),
    ("commands",),
    ("discovery",),
    ("server", "turns"),
    ("client", "external", "playground"),
    ("engine", "learning"),
    ("experience", "state"),
    ("ranking",),
    ("files", "index", "metatools"),
    ("tools",),
    ("text",),
    ("serving", "settings_sources"),
    ("settings",),
    ("contract", "data"),
    ("common",),
    ("errors",),
)
"""Floors from top to bottom. A room imports from floors below its own, and from no other."""

INSIDE: dict[str, tuple[tuple[str, ...], ...]] = {
    "client": (
        ("selector",),
        ("settings",),
        ("call", "metrics"),
        ("connections", "encoding", "events"),
        ("known", "proxies", "sent_tools"),
        ("answer", "breaker", "endpoint", "jsonl", "offer", "rollout", "selection"),
        ("log",),
    ),
    "turns": (
        ("meta",),
        ("drivers",),
        ("preparation",),
        ("lessons", "turn"),
        ("table",),
        ("answering", "asking", "falling_back"),
        ("keeping",),
        ("writing",),
        ("state",),
        ("events", "opening"),
        ("dispatch", "history"),
        ("shown",),
        ("left_out",),
        ("refusals", "renaming"),
        ("providers",),
        ("config", "local", "session", "tracker"),
    ),
    "commands": (
        ("evaluation", "registering"),
        ("beginning", "searching"),
        ("terminal",),
    ),
    "external": (("catalogs",), ("packed_tools", "tables")),
    "server": (
        ("serve",),
        ("app",),
        ("background", "endpoint"),
        ("mcp", "openapi"),
        ("routes",),
        ("calls",),
        ("context",),
        ("service",),
        ("deciding", "observe"),
        ("compiling", "http"),
    ),
}
"""Floors inside rooms, by the same rule."""


class Product(NamedTuple):
    """What is used by itself."""

    knows: str
    rooms: tuple[str, ...]
    below: tuple[str, ...]
    """The products that it may import from, beside itself."""


PRODUCTS = {
    "core": Product(
        "tools and questions; no network, no clock",
        (
            *("contract", "common", "text", "tools", "files", "index", "ranking", "experience"),
            *("metatools", "data", "engine", "errors"),
        ),
        (),
    ),
    "service": Product(
        "tenants, limits, processes",
        (
            *("settings", "settings_sources", "serving", "state", "learning", "external"),
            *("server", "playground"),
        ),
        ("core",),
    ),
    "client": Product("one endpoint that may fail", ("client",), ("core",)),
    "turns": Product(
        "providers' bodies and streams",
        ("discovery", "turns", "integrations"),
        ("core", "client"),
    ),
    "gateways": Product(
        "hosts and servers",
        ("gateway",),
        ("core", "service", "client", "turns", "commands"),
    ),
    "commands": Product(
        "questions, logs, flags",
        (
            "cli",
            "commands",
        ),
        ("core", "service", "client", "turns", "gateways"),
    ),
}
"""Each room belongs to one of them."""

CLIENT_SIDE = ("client", "discovery", "turns")
"""Rooms that install without the service."""

CLIENT_MAY_IMPORT = {
    *CLIENT_SIDE,
    *("common", "contract", "data", "errors", "metatools", "text", "tools"),
}


def modules() -> dict[str, Path]:
    """Find every module by its name below the package, such as `ranking.ask`."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        found[name.removesuffix(".__init__").removesuffix("__init__")] = path
    return found


@cache
def imports() -> list[tuple[str, str]]:
    """List every import of one module by another, those for types only included."""
    return list(_imports(modules()))


def _imports(known: Mapping[str, Path]) -> Iterator[tuple[str, str]]:
    for name, path in known.items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("toolscout"):
                below = str(node.module).removeprefix("toolscout").removeprefix(".")
                for each in node.names:
                    target = f"{below}.{each.name}".removeprefix(".")
                    yield name, target if target in known else below


def room(module: str) -> str:
    """Return the room of a module: its top folder, or the module itself outside of folders."""
    return module.partition(".")[0]


def arrows(inside: str = "") -> dict[str, set[str]]:
    """Which rooms each room imports from; of one room's folders and files, if it is given."""
    floors = INSIDE[inside] if inside else ROOMS
    found: dict[str, set[str]] = {name: set() for floor in floors for name in floor}
    for source, target in imports():
        if inside and not (room(source) == room(target) == inside):
            continue
        here, there = (room(name.removeprefix(f"{inside}.")) for name in (source, target))
        if here in found and there in found and here != there:
            found[here].add(there)
    return found


def page() -> str:
    """Write `docs/architecture.md`."""
    text = TEMPLATE.read_text("utf-8")
    return text.replace("{picture}", picture()).replace("{products}", products())


def products() -> str:
    """Write a table of the products."""
    rows = ["| product | rooms | knows | may import |", "|---|---|---|---|"]
    for name, product in PRODUCTS.items():
        rooms = ", ".join(f"`{one}`" for one in product.rooms)
        below = ", ".join(product.below)
        rows.append(f"| **{name}** | {rooms} | {product.knows} | {below} |")
    return "\n".join(rows)


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
