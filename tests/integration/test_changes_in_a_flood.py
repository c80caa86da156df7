"""Changes of catalogs in PostgreSQL, tool by tool, of one tenant beside what another one does."""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ACME_OLD, ZENITH
from tests.contract.learning import FEEDBACK, KEYS, LEARNING, WORKED
from tests.postgres_server import PostgresServer
from tests.support import TOOLS, Process, crowd, running, until

pytestmark = [pytest.mark.integration, pytest.mark.alone]

FLOODING = 12
"""Changes of one tenant at a time."""

ROUNDS = 8


def send(server: Process, key: str, method: str, path: str, body: Any = None) -> int:
    answer = server.client.request(method, path, json=body, headers={"x-api-key": key})
    return answer.status_code


@contextmanager
def flood(server: Process) -> Iterator[Counter[int]]:
    """Change a catalog of the first tenant, twelve at a time, until the end of the block."""
    over, statuses = threading.Event(), Counter[int]()

    def change(number: int) -> None:
        path, changed = f"/v1/catalogs/big{number % 3}", 0
        while not over.is_set():
            changed += 1
            tools = {"upsert": crowd(300, f"w{number}r{changed}")}
            statuses[send(server, ACME_OLD, "PATCH", path, tools)] += 1

    with ThreadPoolExecutor(FLOODING) as callers:
        changing = [callers.submit(change, number) for number in range(FLOODING)]
        try:
            until(lambda: statuses.total() > 0)
            yield statuses
        finally:
            over.set()
        for each in changing:
            each.result()


def test_a_flood_of_changes_refuses_nothing_of_another_tenant(
    tmp_path: Path, postgres_server: PostgresServer
):
    postgres_server.empty()
    refused, asked = list[str](), 0
    settings = {"TOOLSCOUT_STORE": postgres_server.url, "TOOLSCOUT_API_KEYS": KEYS}
    with running(tmp_path, **settings) as server:
        kept = {"tools": TOOLS, "keep": "postgres"}
        for number in range(3):
            assert send(server, ACME_OLD, "PUT", f"/v1/catalogs/big{number}", kept) == 201
        with flood(server) as statuses:
            for number in range(ROUNDS):
                mine, tool_by_tool = f"/v1/catalogs/mine{number}", f"/v1/catalogs/kept{number}"
                for method, path, body in (
                    ("PUT", mine, {"tools": TOOLS}),
                    ("PUT", tool_by_tool, kept),
                    ("GET", mine, None),
                    ("POST", FEEDBACK, {**WORKED, "session": "one"}),
                    ("DELETE", f"{LEARNING}?session=one", None),
                    ("DELETE", tool_by_tool, None),
                    ("DELETE", mine, None),
                ):
                    asked += 1
                    status = send(server, ZENITH, method, path, body)
                    if status >= 300:
                        refused.append(f"{status} {method} {path}")
    assert statuses[200] > 0
    print(f"\n{asked - len(refused)} of {asked} calls beside {dict(statuses)} changes: {refused}")
    assert refused == []
