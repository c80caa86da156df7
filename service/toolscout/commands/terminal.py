"""Colour in a terminal, unless it is switched off, and a parser of its arguments that helps."""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn, TextIO

import msgspec

from toolscout.errors import suggest

USAGE = 2
"""The exit status of wrong usage."""

BOLD = "1"
DIM = "2"
RED = "31"
GREEN = "32"
YELLOW = "33"


def has_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal with colour, and `NO_COLOR` is not set.

    An empty `NO_COLOR` counts as not set (https://no-color.org).
    """
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not plain


def paint(text: str, code: str, stream: TextIO) -> str:
    """Colour a text, if the stream shows colour."""
    return f"\x1b[{code}m{text}\x1b[0m" if has_colour(stream) else text


def complain(text: str, colour: str = RED) -> None:
    """Write a line to standard error, under the name of the program."""
    sys.stderr.write(f"{paint('toolscout:', colour, sys.stderr)} {text}\n")


def flush_output() -> None:
    """Flush standard output; where that fails, drop what is left in it.

    Otherwise the interpreter would try again as it ends, and fail with a status of its own.

    Raises:
        OSError: nobody reads it any more, or its disk is full.
    """
    if sys.stdout is None:  # it was closed before the program began
        return
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def as_json(value: object) -> str:
    """Return what a command prints with `--json`."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


_NO_CHOICE = re.compile(r"(argument .*?): invalid choice: '(.*)' \(choose from (.*)\)$")


class Parser(argparse.ArgumentParser):
    """Suggests the nearest flag, command or choice for an unknown one.

    Help says what a flag is if it is not given; the help of a setting says so already.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        self.flags: list[str] = []
        """Every flag that was added, such as `--port`."""
        super().__init__(*args, **options)

    def add_argument(self, *args: Any, **options: Any) -> argparse.Action:
        """Add an argument, as the base class does, and its default to its help."""
        action = super().add_argument(*args, **options)
        self.flags += action.option_strings
        is_said = isinstance(action.default, str | int) and not isinstance(action.default, bool)
        if is_said and action.default != argparse.SUPPRESS:
            action.help = f"{action.help} (default %(default)s)"
        return action

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments, as the base class does; an unknown one is an error with a hint."""
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            written = " ".join(unknown)
            parsed.command.error(
                f"unrecognized arguments: {written}{_suggest_argument(unknown, parsed)}"
            )
        return parsed

    def print_help(self, file: Any = None) -> None:
        """Print help; argparse's own printing would drop that a disk is full."""
        print(self.format_help(), end="", file=file)

    def error(self, message: str) -> NoReturn:
        """Exit with usage and message."""
        if match := _NO_CHOICE.match(message):
            what, got, choices = match.groups()
            valid = choices.replace("'", "").split(", ")
            hint = suggest(got, valid) or f"; it is one of {', '.join(valid)}"
            message = f"{what}: there is no {got!r}{hint}"
        usage = f"usage: {self.prog} …; {self.prog} --help has the rest"
        self.exit(USAGE, f"{usage}\n{paint('toolscout:', RED, sys.stderr)} {message}\n")


class ShowVersion(argparse.Action):
    """Prints a version and exits; argparse's own action would drop that a disk is full."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        """Print it."""
        print(self.const)  # noqa: T201  # a command prints
        parser.exit()


ELSEWHERE = {"--workers": "; docs/scale.md says how several processes serve"}
"""What is said of flags that other servers have."""


def _suggest_argument(unknown: Sequence[str], parsed: argparse.Namespace) -> str:
    """Return the end of a message about arguments that are not known."""
    flag = next((word.partition("=")[0] for word in unknown if word.startswith("-")), None)
    if flag is None:
        if not hasattr(parsed, "pattern"):
            is_port = unknown[0].isdecimal() and "--port" in parsed.flags
            return f"; did you mean --port {unknown[0]}?" if is_port else ""
        if unknown[0].endswith((".json", ".jsonl", ".yaml", ".yml")):
            return f"; did you mean --tools {unknown[0]}?"
        question = " ".join([parsed.pattern, *unknown])
        return f'; quote the question: "{question}"'
    if flag in ELSEWHERE and flag not in parsed.flags:
        return ELSEWHERE[flag]
    if meant := suggest(flag, parsed.flags):
        return meant
    longer = [one for one in parsed.flags if one.startswith(f"-{flag}")]  # as --port for -p
    return f"; did you mean {longer[0]}?" if len(flag) == 2 and longer else ""


def read_whole_number(text: str) -> int:
    """Read a whole number from 0 up, as a type of an argument."""
    return _read_number(text, 0)


def read_positive(text: str) -> int:
    """Read a whole number from 1 up, as a type of an argument."""
    return _read_number(text, 1)


def _read_number(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r}") from None
    if value < least:
        raise argparse.ArgumentTypeError(f"at least {least}, got {value}")
    return value
