"""The store in a file keeps the contract, and what it holds outlives its process."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.state.contract import StoreContract
from toolscout.state.sqlite import SqliteStore
from toolscout.state.store import StoreUnavailable

pytestmark = pytest.mark.anyio

WRITER = """
import asyncio, sys
from pathlib import Path
from toolscout.state.sqlite import SqliteStore

async def main():
    store = SqliteStore(Path(sys.argv[1]))
    for number in range(100_000):
        await store.append("log", [str(number).encode()], keep=100_000)
        print(number, flush=True)

asyncio.run(main())
"""


class TestSqlite(StoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[SqliteStore]:
        store = SqliteStore(tmp_path / "folder" / "state.db")
        yield store
        await store.close()


async def test_what_was_written_is_there_for_the_next_process(tmp_path: Path):
    first = SqliteStore(tmp_path / "state.db")
    await first.put("key", b"value")
    await first.append("log", [b"entry"], keep=10)
    await first.close()
    second = SqliteStore(tmp_path / "state.db")
    assert await second.get("key") == b"value"
    assert [entry.value for entry in await second.read("log")] == [b"entry"]
    await second.close()


async def test_nothing_acknowledged_is_lost_when_the_process_is_killed(tmp_path: Path):
    path = tmp_path / "state.db"
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for _ in range(50):
            acknowledged = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        rest = writer.stdout.read().split()
    acknowledged = int(rest[-1]) if rest else acknowledged
    store = SqliteStore(path)
    kept = [int(entry.value) for entry in await store.read("log", limit=100_000)]
    await store.close()
    assert kept[: acknowledged + 1] == list(range(acknowledged + 1))


async def test_two_stores_share_one_file(tmp_path: Path):
    one, two = (SqliteStore(tmp_path / "state.db") for _ in range(2))
    stores = (one, two)
    await asyncio.gather(
        *(stores[i % 2].append("log", [str(i).encode()], keep=100) for i in range(40))
    )
    assert sorted(int(entry.value) for entry in await one.read("log")) == list(range(40))
    await asyncio.gather(one.close(), two.close())


@pytest.mark.parametrize("content", [b"not a database, " * 100, b""])
async def test_a_file_that_is_no_database_is_put_aside(tmp_path: Path, content: bytes):
    path, reports = tmp_path / "state.db", []
    path.write_bytes(content)
    store = SqliteStore(path, reports.append)
    await store.put("key", b"value")
    assert await store.get("key") == b"value"
    await store.close()
    assert len(reports) == bool(content)
    aside = list(tmp_path.glob("state.db.unusable-*"))
    assert [file.read_bytes() for file in aside] == ([content] if content else [])


async def test_another_schema_is_put_aside(tmp_path: Path):
    path, reports = tmp_path / "state.db", []
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    store = SqliteStore(path, reports.append)
    assert await store.get("key") is None
    await store.close()
    assert "version 99" in reports[0]


async def test_a_folder_that_cannot_be_made_leaves_the_store_unavailable(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")
    store = SqliteStore(tmp_path / "file" / "state.db")
    with pytest.raises(StoreUnavailable):
        await store.get("key")
    await store.close()


async def test_many_processes_may_begin_one_file_at_once(tmp_path: Path):
    for number in range(10):
        stores = [SqliteStore(tmp_path / f"{number}.db") for _ in range(4)]
        await asyncio.gather(*(store.put(f"key{n}", b"value") for n, store in enumerate(stores)))
        assert len(await stores[0].keys("key")) == 4
        await asyncio.gather(*(store.close() for store in stores))
