"""Completion for shells, written from the parser: `source <(toolscout completion bash)`."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag: how it is written, what it is for, and what may stand behind it."""

    name: str
    about: str
    takes_value: bool
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """One command with its flags, and the words that may be its argument."""

    name: str
    about: str
    flags: tuple[Flag, ...]
    words: tuple[str, ...]


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """The completion of a parser with commands, for `bash`, `zsh` or `fish`."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](parser.prog, list(_commands(parser)))


def _commands(parser: argparse.ArgumentParser) -> Iterator[Command]:
    (group,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    abouts = {choice.dest: str(choice.help) for choice in group._choices_actions}
    for name, command in group.choices.items():
        actions = command._actions
        flags = tuple(_flag(action) for action in actions if action.option_strings)
        words = tuple(
            str(word)
            for action in actions
            if not action.option_strings
            for word in action.choices or ()
        )
        yield Command(name, abouts[name], flags, words)


def _flag(action: argparse.Action) -> Flag:
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    listed = metavar.split("|") if "|" in metavar else ()
    values = tuple(map(str, action.choices or listed))
    about = (action.help or "").partition(" (default")[0].replace("%%", "%")
    return Flag(action.option_strings[-1], about, action.nargs != 0, values)


def _bash(program: str, commands: list[Command]) -> str:
    behind, after = [], []
    for command in commands:
        for flag in command.flags:
            if flag.takes_value:
                # Without words of its own, readline's default is left: the names of files.
                then = f'words="{" ".join(flag.values)}"' if flag.values else "return"
                behind.append(f'        "{command.name} {flag.name}") {then} ;;')
        words = " ".join((*command.words, *(flag.name for flag in command.flags)))
        after.append(f'        {command.name}) words="{words}" ;;')
    names = " ".join(command.name for command in commands)
    lines = [
        f"_{program}() {{",
        '    local word="${COMP_WORDS[COMP_CWORD]}" words=""',
        "    COMPREPLY=()",
        '    case "${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD-1]}" in',
        *behind,
        "    esac",
        "    if [[ $COMP_CWORD -eq 1 ]]; then",
        f'        words="{names} --help --version"',
        '    elif [[ -z $words ]]; then case "${COMP_WORDS[1]}" in',
        *after,
        "    esac; fi",
        '    COMPREPLY=($(compgen -W "$words" -- "$word"))',
        "}",
        f"complete -o bashdefault -o default -F _{program} {program}",
    ]
    return "\n".join(lines) + "\n"


def _zsh(program: str, commands: list[Command]) -> str:
    cases = []
    for command in commands:
        specs = [_zsh_flag(flag) for flag in command.flags]
        if command.words:
            specs.append(_quoted(f"1:{command.name}:({' '.join(command.words)})"))
        cases.append(f"        {command.name}) _arguments {' '.join(specs)} ;;")
    described = " ".join(_quoted(f"{c.name}:{c.about}") for c in commands)
    lines = [
        f"#compdef {program}",
        f"_{program}() {{",
        "    local -a commands",
        f"    commands=({described})",
        "    if (( CURRENT == 2 )); then _describe command commands; return; fi",
        "    shift words; (( CURRENT-- ))",
        "    case $words[1] in",
        *cases,
        "    esac",
        "}",
        f'if [[ $funcstack[1] == _{program} ]]; then _{program} "$@"',
        f"else compdef _{program} {program}; fi",
    ]
    return "\n".join(lines) + "\n"


def _zsh_flag(flag: Flag) -> str:
    about = "".join("\\" + mark if mark in "[]:\\" else mark for mark in flag.about)
    spec = f"{flag.name}[{about}]"
    if flag.takes_value:
        spec += f":value:({' '.join(flag.values)})" if flag.values else ":value:_files"
    return _quoted(spec)


def _fish(program: str, commands: list[Command]) -> str:
    lines = [f"complete -c {program} -f"]
    for command in commands:
        lines.append(
            f"complete -c {program} -n __fish_use_subcommand -a {command.name}"
            f" -d {_fish_quoted(command.about)}"
        )
        on = f"complete -c {program} -n '__fish_seen_subcommand_from {command.name}'"
        if command.words:
            lines.append(f"{on} -a '{' '.join(command.words)}'")
        for flag in command.flags:
            behind = ""
            if flag.takes_value:
                behind = f" -x -a '{' '.join(flag.values)}'" if flag.values else " -r -F"
            name = flag.name.removeprefix("--")
            lines.append(f"{on} -l {name}{behind} -d {_fish_quoted(flag.about)}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
