"""The file of accepted definitions, and what a process that makes it accepts."""

from pathlib import Path

import pytest

from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.pins import DIGEST, DefinitionPins

ONE, TWO = f"{DIGEST}one", f"{DIGEST}two"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pins.json"


def test_the_first_list_of_each_server_is_accepted_and_nothing_that_it_adds_later(file: Path):
    pins = DefinitionPins(file)
    assert pins.accept("mail__read", ONE)
    assert pins.accept("mail__send", ONE)
    assert pins.save() == ["mail__read: new", "mail__send: new"]
    assert not pins.accept("mail__wipe_disk", ONE)
    assert not pins.accept("mail__read", TWO)
    assert pins.accept("mail__read", ONE)
    assert pins.accept("files__read", ONE)  # of a server that was late


def test_only_named_tools_are_accepted_where_some_are_named(file: Path):
    pins = DefinitionPins(file, ("mail__send",))
    assert not pins.accept("mail__delete_all", ONE)
    assert pins.accept("mail__send", ONE)
    assert pins.save() == ["mail__send: new"]


def test_of_two_first_lists_the_one_that_is_written_first_counts(file: Path):
    first, second = DefinitionPins(file), DefinitionPins(file)
    assert first.accept("mail__read", ONE)
    assert second.accept("mail__read", TWO)
    first.save()
    second.save()
    third = DefinitionPins(file)
    assert third.accept("mail__read", ONE)
    assert not third.accept("mail__read", TWO)


def test_accepting_some_tools_leaves_what_others_accept_meanwhile(file: Path):
    before = DefinitionPins(file)
    for name in ("mail__read", "files__read"):
        before.accept(name, ONE)
    before.save()
    slow, quick = DefinitionPins(file, ("mail__*",)), DefinitionPins(file, ("files__*",))
    slow.accept("mail__read", TWO)
    quick.accept("files__read", TWO)
    assert quick.save() == ["files__read: changed"]
    slow.save()
    after = DefinitionPins(file)
    assert after.accept("mail__read", TWO)
    assert after.accept("files__read", TWO)
    assert before.reload()
    assert before.accept("mail__read", TWO)


def test_damaged_pins_are_an_error_that_says_so(file: Path):
    file.write_text("nonsense")
    with pytest.raises(ConfigurationError, match=r"pins\.json"):
        DefinitionPins(file)
