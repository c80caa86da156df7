"""Calls that worked order later searches, in this gateway and with a store in the next."""

from pathlib import Path

import pytest

from tests.gateway.mcp.hosts import host, stdio_server
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


def test_two_replicas_with_one_store_agree_on_what_was_learned(
    tmp_path: Path, redis_server: RedisServer
):
    tools = {"allow": ["count_words", "list_notes", "read_sketch"]}
    flags = ["--store", redis_server.url]
    with host(tmp_path, {"notes": stdio_server(**tools)}, *flags) as first:
        assert first.found(QUERY)[0] == "notes__list_notes"
        with host(tmp_path, {"notes": stdio_server(**tools)}, *flags) as second:
            for _ in range(4):
                first.found(QUERY)
                assert not first.call("notes__count_words", seconds=0).is_error
            until(lambda: second.found(QUERY)[0] == "notes__count_words")
