"""The file of accepted definitions, and what a process that makes it accepts."""

from pathlib import Path

from toolscout.gateway.mcp.pins import DIGEST, PinFile, Pins, PinStore

ONE, TWO = f"{DIGEST}one", f"{DIGEST}two"


def test_the_first_list_of_each_server_is_accepted_and_nothing_that_it_adds_later(tmp_path: Path):
    pins = Pins(PinFile(tmp_path / "pins.json"))
    assert pins.accept("mail__read", ONE)
    assert pins.accept("mail__send", ONE)
    assert pins.save() == ["mail__read: new", "mail__send: new"]
    assert not pins.accept("mail__wipe_disk", ONE)
    assert not pins.accept("mail__read", TWO)
    assert pins.accept("mail__read", ONE)
    assert pins.accept("files__read", ONE)  # of a server that was late


def test_only_named_tools_are_accepted_where_some_are_named(tmp_path: Path):
    pins = Pins(PinFile(tmp_path / "pins.json"), ("mail__send",))
    assert not pins.accept("mail__delete_all", ONE)
    assert pins.accept("mail__send", ONE)
    assert pins.save() == ["mail__send: new"]


def test_gateways_that_share_a_store_accept_the_same(tmp_path: Path):
    url = f"sqlite:{tmp_path / 'pins.db'}"
    first, second = Pins(PinStore(url)), Pins(PinStore(url))
    assert first.accept("mail__read", ONE)
    assert first.save() == ["mail__read: new"]
    assert second.reload()
    assert not second.accept("mail__read", TWO)
    assert not second.accept("mail__wipe_disk", ONE)  # what a server adds later is new
    assert second.accept("files__read", ONE)
    second.save()
    assert Pins(PinStore(url)).accept("files__read", ONE)


def test_of_two_first_lists_the_one_that_is_written_first_counts(tmp_path: Path):
    url = f"sqlite:{tmp_path / 'pins.db'}"
    first, second = Pins(PinStore(url)), Pins(PinStore(url))
    assert first.accept("mail__read", ONE)
    assert second.accept("mail__read", TWO)
    first.save()
    second.save()
    third = Pins(PinStore(url))
    assert third.accept("mail__read", ONE)
    assert not third.accept("mail__read", TWO)


def test_what_somebody_accepts_replaces_what_was(tmp_path: Path):
    url = f"sqlite:{tmp_path / 'pins.db'}"
    first = Pins(PinStore(url))
    first.accept("mail__read", ONE)
    first.save()
    chosen = Pins(PinStore(url), ("mail__*",))
    assert chosen.accept("mail__read", TWO)
    assert chosen.save() == ["mail__read: changed"]
    assert first.reload()
    assert first.accept("mail__read", TWO)
