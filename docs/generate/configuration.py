"""docs/configuration.md and deploy/toolscout.toml: every setting, from `toolscout.settings`."""

import json

from docs.generate.notes import WRITTEN, joined, notes, table
from toolscout.settings import MIB, SETTINGS, Setting

_HEAD = "Every setting with its default; for `toolscout serve --config`. Written by `make docs`."
_KINDS = {bool: "on or off", int: "whole number", float: "number", str: "text"}


def page() -> str:
    """Return the whole page."""
    rows = [(f"[`{s.name}`](#{s.name})", _shown(s.default), s.help) for s in SETTINGS]
    return joined(
        [
            WRITTEN,
            "# Configuration",
            notes("introductions")["configuration"],
            table(("setting", "default", ""), rows),
            *(_section(setting) for setting in SETTINGS),
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


def _section(setting: Setting) -> str:
    flag = "none: every process list would show it" if setting.secret else f"`{setting.flag}`"
    rows = [
        ("flag", flag),
        ("environment", f"`{setting.env}`, or a file that `{setting.env}_FILE` names"),
        ("TOML", f"`{setting.name}`"),
        ("default", _shown(setting.default)),
        ("values", _values(setting)),
    ]
    help_ = f"{setting.help[0].upper()}{setting.help[1:]}."
    parts = [f"## `{setting.name}`", help_, table(("", ""), rows)]
    return "\n\n".join([*parts, *filter(None, [notes("settings").get(setting.name)])])


def _values(setting: Setting) -> str:
    if setting.choices:
        return ", ".join(f"`{choice}`" for choice in setting.choices)
    kind = _KINDS[setting.kind]
    if setting.low is None or setting.high is None:
        return kind
    return f"{kind}, {_number(setting.low)} to {_number(setting.high)}"


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
