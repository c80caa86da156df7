"""The file of accepted definitions, and what a process that makes it accepts."""

import asyncio
from pathlib import Path

import pytest

from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.pins import DIGEST, PINS, PinFile, Pins, PinStore
from toolscout.state.sqlite import SqliteStore

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


@pytest.mark.parametrize("kind", ["file", "store"])
def test_accepting_some_tools_leaves_what_others_accept_meanwhile(tmp_path: Path, kind: str):
    def place() -> PinFile | PinStore:
        if kind == "file":
            return PinFile(tmp_path / "pins.json")
        return PinStore(f"sqlite:{tmp_path / 'pins.db'}")

    before = Pins(place())
    for name in ("mail__read", "files__read"):
        before.accept(name, ONE)
    before.save()
    slow, quick = Pins(place(), ("mail__*",)), Pins(place(), ("files__*",))
    slow.accept("mail__read", TWO)
    quick.accept("files__read", TWO)
    quick.save()
    slow.save()
    after = Pins(place())
    assert after.accept("mail__read", TWO)
    assert after.accept("files__read", TWO)


def test_damaged_pins_are_an_error_that_says_so(tmp_path: Path):
    store = SqliteStore(tmp_path / "pins.db")
    asyncio.run(store.put(PINS, b"nonsense"))
    asyncio.run(store.close())
    with pytest.raises(ConfigurationError, match="damaged"):
        Pins(PinStore(f"sqlite:{tmp_path / 'pins.db'}"))


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
