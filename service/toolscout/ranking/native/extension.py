"""The extension `_join`: whether it is built, and whether it is used."""

import os
from importlib import import_module
from types import ModuleType

INTERFACE = 2
"""What the extension is called with: one that was compiled from other sources is not used."""

VARIABLE = "TOOLSCOUT_NATIVE"


def _load() -> ModuleType | None:
    try:
        loaded = import_module("toolscout.ranking.native._join")
    except ImportError:  # no compiler was there, or it is the wheel for every platform
        return None
    return loaded if loaded.INTERFACE == INTERFACE else None


def _is_wanted() -> bool:
    return os.environ.get(VARIABLE, "on").strip().lower() not in ("off", "false", "no", "0")


_found = _load()
_used = _found if _is_wanted() else None


def find_extension() -> ModuleType | None:
    """Return the extension; None where Python ranks."""
    return _used


def switch(*, is_on: bool) -> None:
    """Let the whole process use the extension, where it is built, or Python alone."""
    global _used
    _used = _found if is_on else None


def describe() -> str:
    """Return what ranks: `native`, `python (off)` or `python (not built)`."""
    if _found is None:
        return "python (not built)"
    return "python (off)" if _used is None else "native"
