"""Calls that worked order later searches, in this gateway and with a store in the next."""

from pathlib import Path

import pytest
from fastmcp.client.transports import StreamableHttpTransport

from tests.gateway.mcp.hosts import connected, host, listening, stdio_server, write
from tests.redis_server import RedisServer
from tests.support import until

pytestmark = pytest.mark.integration

QUERY = "look through the notes"


def test_a_tool_that_served_is_found_first_also_after_a_restart(tmp_path: Path):
    servers = {"notes": stdio_server(allow=["count_words", "list_notes", "read_sketch"])}
    flags = ["--store", f"sqlite:{tmp_path / 'learned.db'}"]
    with host(tmp_path, servers, *flags) as office:
        first, *others = office.found(QUERY)
        assert first == "notes__list_notes"
        assert "notes__count_words" in others
        for _ in range(4):
            office.found(QUERY)
            assert not office.call("notes__count_words", seconds=0).is_error
        assert office.found(QUERY)[0] == "notes__count_words"
    with host(tmp_path, servers, *flags) as office:
        assert office.found(QUERY)[0] == "notes__count_words"


def test_what_one_profile_teaches_counts_in_others_with_the_same_tool(tmp_path: Path):
    tools = ["*__count_words", "*__list_notes", "*__read_sketch"]
    keys = {name: f"key-of-{name}".ljust(32, "x") for name in ("first", "second")}
    profiles = {name: {"key": key, "allow": tools} for name, key in keys.items()}
    path = str(write(tmp_path, {"notes": stdio_server()}, profiles=profiles))
    command = ["-m", "toolscout", "mcp", "--config", path, "--http", "127.0.0.1:PORT"]
    with (
        listening(tmp_path, *command) as (url, _),
        connected(StreamableHttpTransport(url, auth=keys["first"]), tmp_path) as first,
        connected(StreamableHttpTransport(url, auth=keys["second"]), tmp_path) as second,
    ):
        until(lambda: second.found(QUERY)[:1] == ["notes__list_notes"])
        for _ in range(4):
            first.found(QUERY)
            assert not first.call("notes__count_words", seconds=0).is_error
        assert second.found(QUERY)[0] == "notes__count_words"


def test_two_replicas_with_one_store_agree_on_what_was_learned_and_accepted(
    tmp_path: Path, redis_server: RedisServer
):
    tools = {"allow": ["count_words", "list_notes", "read_sketch"]}
    flags = ["--store", redis_server.url, "--pin-definitions", "store"]
    with host(tmp_path, {"notes": stdio_server(**tools)}, *flags) as first:
        assert first.found(QUERY)[0] == "notes__list_notes"
        more = {"notes": stdio_server(allow=[*tools["allow"], "send_note"])}
        with host(tmp_path, more, *flags) as second:
            assert second.names() == {f"notes__{name}" for name in tools["allow"]}
            assert "1 not accepted as they are now: send_note" in second.stderr
            for _ in range(4):
                first.found(QUERY)
                assert not first.call("notes__count_words", seconds=0).is_error
            until(lambda: second.found(QUERY)[0] == "notes__count_words")
