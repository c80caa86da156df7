"""Colour is for people at terminals who want it."""

import io

import pytest

from toolscout.commands.terminal import RED, paint


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch):
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)


def test_a_terminal_shows_colour():
    assert paint("no", RED, Terminal()) == "\x1b[31mno\x1b[0m"


def test_a_file_shows_none():
    assert paint("no", RED, io.StringIO()) == "no"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_shows_none_where_none_is_wanted(name: str, value: str, monkeypatch):
    monkeypatch.setenv(name, value)
    assert paint("no", RED, Terminal()) == "no"


def test_an_empty_wish_is_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_COLOR", "")
    assert paint("no", RED, Terminal()) != "no"
