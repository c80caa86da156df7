"""The file of accepted definitions, and what a process that makes it accepts."""

from pathlib import Path

from toolscout.gateway.mcp.pins import DIGEST, Pins

ONE, TWO = f"{DIGEST}one", f"{DIGEST}two"


def test_the_first_list_of_each_server_is_accepted_and_nothing_that_it_adds_later(tmp_path: Path):
    pins = Pins(tmp_path / "pins.json")
    assert pins.accept("mail__read", ONE)
    assert pins.accept("mail__send", ONE)
    assert pins.save() == ["mail__read: new", "mail__send: new"]
    assert not pins.accept("mail__wipe_disk", ONE)
    assert not pins.accept("mail__read", TWO)
    assert pins.accept("mail__read", ONE)
    assert pins.accept("files__read", ONE)  # of a server that was late


def test_only_named_tools_are_accepted_where_some_are_named(tmp_path: Path):
    pins = Pins(tmp_path / "pins.json", ("mail__send",))
    assert not pins.accept("mail__delete_all", ONE)
    assert pins.accept("mail__send", ONE)
    assert pins.save() == ["mail__send: new"]
