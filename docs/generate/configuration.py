"""docs/configuration.md and deploy/toolscout.toml: every setting, from `toolscout.settings`."""

import json

from docs.generate.notes import WRITTEN, joined, notes
from toolscout.settings import MIB, SETTINGS, Setting

_HEAD = "Every setting with its default; for `toolscout serve --config`. Written by `make docs`."


def page() -> str:
    """Return the whole page."""
    lines = [f"- {_linked(s.name)} ({_shown(s.default)}{_values(s)}): {s.help}" for s in SETTINGS]
    noted = notes("settings")
    return joined(
        [
            WRITTEN,
            "# Configuration",
            notes("introductions")["configuration"],
            "\n".join(lines),
            *(f"## `{s.name}`\n\n{noted[s.name]}" for s in SETTINGS if s.name in noted),
        ]
    )


def example() -> str:
    """Return a whole TOML file: every setting with its default, commented out where it has none."""
    entries = [f"# {setting.help}\n{_assigned(setting)}\n" for setting in SETTINGS]
    return "\n".join([f"# {_HEAD}\n", *entries])


def _assigned(setting: Setting) -> str:
    if setting.default is None:
        return f'#{setting.name} = ""'
    value = json.dumps(setting.default)  # texts, numbers and booleans are the same in TOML
    return f"{setting.name} = {value}"


def _linked(name: str) -> str:
    return f"[`{name}`](#{name})" if name in notes("settings") else f"`{name}`"


def _values(setting: Setting) -> str:
    """Return what a setting may be, behind its default; empty for a text, and for on or off."""
    if setting.choices:
        return "; " + ", ".join(f"`{choice}`" for choice in setting.choices)
    if setting.low is None or setting.high is None:
        return ""
    return f"; {_number(setting.low)} to {_number(setting.high)}"


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else str(value)


def _shown(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "`on`" if value else "`off`"
    if isinstance(value, int) and value >= MIB:
        return f"`{value}` ({value // MIB:,} MiB)"
    return f"`{value}`"
