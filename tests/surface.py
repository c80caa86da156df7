"""The public surface in words: every public name with what it takes.

`python -m tests.surface > tests/surface.txt` writes it down anew after a change that was meant.
"""

import argparse
import enum
import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

MODULES = ("toolscout", "toolscout.client", "toolscout.discovery")
SUBMODULES = {
    "toolscout.discovery.meta": (
        "handle_meta_call",
        "handle_meta_call_async",
        "instructions",
        "meta_tools",
    ),
    "toolscout.discovery.tracker": ("SessionTracker",),
    "toolscout.discovery.session": ("SessionStore",),
    "toolscout.client.events": ("SearchEvent", "TurnEvent", "log_event", "log_turn"),
    "toolscout.client.jsonl": ("JsonLines",),
    "toolscout.client.metrics": ("PrometheusMetrics",),
    "toolscout.metatools.gate": ("RiskGate",),
    "toolscout.client.breaker": ("BreakerPolicy",),
    "toolscout.client.rollout": ("Rollout",),
}
"""Names that the documentation imports from submodules."""

OF_THE_SERVER = frozenset(("toolscout.Engine.decide", "toolscout.Engine.result"))
"""What the server shares with the library, in terms of its own that may change."""


def surface() -> str:
    """Return a line per name and method."""
    lines: list[str] = []
    for module in (*MODULES, *SUBMODULES):
        holder = import_module(module)
        for name in SUBMODULES.get(module) or holder.__all__:
            lines += _described(f"{module}.{name}", getattr(holder, name))
    return "\n".join(lines) + "\n"


def _described(name: str, value: Any) -> Iterator[str]:
    if not callable(value):
        yield f"{name}: {type(value).__name__}"
    elif isinstance(value, type) and issubclass(value, enum.Enum):
        yield f"{name}: {', '.join(str(member.value) for member in value)}"
    else:
        yield name + _taken(value)
        if isinstance(value, type) and not issubclass(value, BaseException):
            yield from _members(name, value)


def _taken(value: Any) -> str:
    """Return a signature; types without their modules, functions that are defaults by name."""
    written = str(inspect.signature(value))
    written = re.sub(r"<function ([\w.]+) at 0x\w+>", r"\1", written)
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z_])", "", written)


def _members(name: str, kind: type) -> Iterator[str]:
    for member, value in sorted(inspect.getmembers_static(kind)):
        found = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        hidden = member.startswith("_") and member not in ("__call__", "__enter__", "__aenter__")
        if hidden or f"{name}.{member}" in OF_THE_SERVER:
            continue
        if inspect.isfunction(found):
            yield f"{name}.{member}{_taken(found)}"
        elif isinstance(found, property):
            yield f"{name}.{member}: property"


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m tests.surface", description=__doc__).parse_args()
    sys.stdout.write(surface())
