"""docs/cli.md: each command with an example and a list of its flags, from the parser."""

import argparse

from docs.generate.notes import WRITTEN, joined, notes
from toolscout.cli import EXITS, parser
from toolscout.settings import SETTINGS

_SETTINGS = frozenset(setting.flag for setting in SETTINGS)


def page() -> str:
    """Return the whole page."""
    exits = "\n".join(f"- `{status}`: {text}" for status, text in EXITS.items())
    parts = [WRITTEN, "# Command line", notes("introductions")["cli"], "## Exit status", exits]
    for name, command in commands().items():
        parts += _section(name, command)
    return joined(parts)


def commands() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command."""
    (found,) = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(found.choices)


def written(action: argparse.Action) -> str:
    """Return how a flag or an argument is written."""
    return f"`{', '.join(action.option_strings) or str(action.metavar or action.dest).upper()}`"


def takes_settings(command: argparse.ArgumentParser) -> bool:
    """Whether its flags are the settings."""
    return "--port" in command._option_string_actions and "--upstream" not in (
        command._option_string_actions
    )


def flags(command: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return flags and arguments; those that are settings are in configuration.md."""
    elsewhere = _SETTINGS if takes_settings(command) else frozenset()
    return [
        action
        for action in command._actions
        if action.dest != "help" and not elsewhere.intersection(action.option_strings)
    ]


def _section(name: str, command: argparse.ArgumentParser) -> list[str]:
    example = str(command.epilog).partition("\n")[2]
    parts = [f"## `toolscout {name}`", str(command.description), f"```sh\n{example.strip()}\n```"]
    parts.append(notes("commands").get(name, ""))
    if takes_settings(command):
        parts.append("Every [setting](configuration.md) is a flag too.")
    own = [one for one in flags(command) if not _is_setting(one)]
    lines = [f"- {written(one)}: {_about(one)}" for one in own]
    shared = ", ".join(written(one) for one in flags(command) if _is_setting(one))
    lines += [f"- {shared}: as the [settings](configuration.md) of these names"] if shared else []
    return [*parts, "\n".join(lines)]


def _is_setting(action: argparse.Action) -> bool:
    """Whether a flag means what the setting of its name means."""
    help_of = {setting.flag: setting.help for setting in SETTINGS}
    return any(
        str(action.help).startswith(help_of[flag])
        for flag in action.option_strings
        if flag in help_of
    )


def _about(action: argparse.Action) -> str:
    about = str(action.help).removesuffix(" (default %(default)s)")  # which argparse adds
    if action.choices:
        about += ": " + ", ".join(f"`{choice}`" for choice in action.choices)
    if action.required and action.option_strings:
        about += " (required)"
    elif action.default not in (None, False, [], argparse.SUPPRESS):
        about += f" (`{action.default}`)"
    return about
