"""What the real proxy does with an answer, and that the client does no worse."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.client.test_chaos import CAP_S
from tests.client.upstream import Exchange, peer
from tests.support import PATIENCE_S
from toolscout.client import Selector

NAMES = (
    "read_file write_file search_code list_dir execute_command create_file delete_file "
    "git_commit run_tests send_email"
).split()
TOOLS = [{"name": name} for name in NAMES]

RANK_ORDER = {"ok", "more_than_top_k"}
"""The proxy cuts and orders names as it was given the tools, the client as they are ranked."""


def reply(row: dict[str, Any]) -> Any:
    said = row["selector_reply"]

    def script(exchange: Exchange) -> None:
        if row["id"] == "slow":
            exchange.stopping.wait(5)
        if said["status"] is None or row["id"] == "slow":
            exchange.close()
            return
        content = said["body"].encode()
        headers = [("Content-Type", "application/json")] if "headers" not in said else []
        if said.get("content_encoding") == "gzip":
            content = gzip.compress(content)
            headers.append(("Content-Encoding", "gzip"))
        if said.get("transfer") == "chunked":
            exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            exchange.send(b"%x\r\n%b\r\n0\r\n\r\n" % (len(content), content))
            return
        if said["status"] in (302, 307):
            headers.append(("Location", "/v1/tool-discovery/search"))
        exchange.answer(content, said["status"], headers)

    return script


def rows(data: Path, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((data / "cases/gateway-outcomes.json").read_text())[
        kind
    ]
    return found


def test_replies_have_the_outcome_they_have_in_the_proxy(data: Path):
    for row in rows(data, "replies"):
        cap = CAP_S if row["id"] == "slow" else PATIENCE_S
        with peer(reply(row)) as fake, Selector(fake.url, timeout=cap) as selector:
            selection = selector.select("find code", TOOLS, 5)
            fake.stopping.set()
        assert selection.reason == row["fallback_reason"], row["id"]
        if row["fallback_reason"]:
            assert selection.fell_open, row["id"]
            assert list(selection.names) == NAMES, row["id"]
        elif row["id"] in RANK_ORDER:
            said = json.loads(row["selector_reply"]["body"])["selected_names"]
            assert list(selection.names) == said[:5], row["id"]
        else:
            assert selection.names == ["search_code"], row["id"]


@pytest.mark.parametrize("kind", ["blank_query", "no_endpoint", "no_deferred_tools"])
def test_local_conditions_have_the_outcome_they_have_in_the_proxy(data: Path, kind: str):
    row = {row["id"]: row for row in rows(data, "local")}[kind]
    with peer(lambda exchange: exchange.select("read_file")) as fake:
        with Selector(None if kind == "no_endpoint" else fake.url) as selector:
            selection = selector.select(
                " " if kind == "blank_query" else "x", [] if kind == "no_deferred_tools" else TOOLS
            )
        assert fake.requests == []
    assert selection.reason == row["fallback_reason"]
    assert list(selection.names) == ([] if kind == "no_deferred_tools" else NAMES)
