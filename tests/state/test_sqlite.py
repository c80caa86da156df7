"""The store in a file keeps the contract, and what it holds outlives its process."""

import asyncio
import errno
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing, nullcontext, suppress
from pathlib import Path

import pytest

from tests.state.contract import StoreContract
from tests.support import TOOLS, problem_of, running, toolscout, until
from toolscout.errors import ConfigurationError
from toolscout.state.sqlite import SqliteStore
from toolscout.state.sqlite_file import verify
from toolscout.state.store import RECOMPILABLE, StoreUnavailable

pytestmark = pytest.mark.anyio

OFFICE = "/v1/catalogs/office"
LIST = json.dumps({"tools": TOOLS}).encode()

WRITER = """
import asyncio, sys
from pathlib import Path
from typing import Any
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


async def test_a_file_is_opened_and_read_while_another_process_writes(tmp_path: Path):
    path = tmp_path / "state.db"
    first = SqliteStore(path)
    await first.put("key", b"value")
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        second = SqliteStore(path)
        assert await second.get("key") == b"value"
        other.execute("ROLLBACK")
    other.close()
    await first.close()
    await second.close()


def test_a_service_that_starts_on_a_full_disk_says_so_and_searches(tmp_path: Path):
    store = tmp_path / "state.db"
    full = ("sh", "-c", 'ulimit -f 8; exec "$@"', "sh")  # 4 KiB a file, and SQLite needs more
    flags = ["--store", f"sqlite:{store}"]
    with running(tmp_path, *flags, before=full) as server:
        until(lambda: "store_unavailable" in server.stdout)
        lines = map(json.loads, server.stdout.splitlines())
        (told,) = [line for line in lines if line["event"] == "store_unavailable"]
        assert told["level"] == "error"
        assert told["detail"].startswith(f"sqlite {store}: ")
        assert server.search().status_code == 200
        problem_of(server.send("PUT", OFFICE, LIST), 503, "store_unavailable")
    with running(tmp_path, *flags) as server:  # there is room again
        assert server.send("PUT", OFFICE, LIST).status_code == 201
        assert "store_unavailable" not in server.stdout


@pytest.mark.parametrize(("code", "kept"), [(errno.EOPNOTSUPP, 2), (errno.ENOSPC, 0)])
async def test_lists_are_evicted_for_want_of_room_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, kept: int
):
    store = SqliteStore(tmp_path / "state.db")
    for name in "ab":
        await store.put(f"{RECOMPILABLE}acme/{name}", b"x" * 5_000, 60)

    def refuse(*_: object) -> None:
        raise OSError(code, "refused")

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with nullcontext() if kept else pytest.raises(StoreUnavailable, match="refused"):
        await store.put("registered/acme/c", b"x" * 2_000_000)
    assert len(await store.keys(RECOMPILABLE)) == kept
    await store.close()


async def test_the_room_for_deletions_is_as_large_as_the_latest_writes_need(tmp_path: Path):
    store, reserve = SqliteStore(tmp_path / "state.db"), tmp_path / "state.db-reserve"
    await store.put("large", b"x" * 8_000_000)
    assert reserve.stat().st_size > 8_000_000
    await store.drop("nothing")  # which empties the write-ahead log
    await store.delete("large")
    await store.put("small", b"x")
    assert reserve.stat().st_size < 2_000_000
    await store.close()


async def test_what_comes_after_a_drop_stays(tmp_path: Path):
    store = SqliteStore(tmp_path / "state.db")
    await store.append("log", [b"old"] * 500, keep=1_000)
    await store.drop("log")
    await store.append("log", [b"new"], keep=1_000)
    assert [entry.value for entry in await store.read("log")] == [b"new"]
    await store.close()


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


def newer(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")


def damaged(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE filler (text)")
        db.executemany("INSERT INTO filler VALUES (?)", [("x" * 1_000,)] * 100)
    content = bytearray(path.read_bytes())
    content[4_096 * 3 : 4_096 * 4] = b"\xff" * 4_096
    path.write_bytes(content)


def foreign(path: Path) -> None:
    path.write_bytes(b"not a database, " * 100)


@pytest.mark.parametrize("spoil", [newer, damaged, foreign])
async def test_a_file_that_cannot_be_used_is_refused_and_left_as_it_is(tmp_path: Path, spoil):
    path = tmp_path / "state.db"
    spoil(path)
    before = path.read_bytes()
    with pytest.raises(ConfigurationError, match=r"state\.db: .*; the file was left as it is"):
        verify(path)
    store = SqliteStore(path)
    with pytest.raises(StoreUnavailable):
        await store.put("key", b"value")
    await store.close()
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["state.db"]


def test_a_service_does_not_start_on_a_file_of_a_newer_release(tmp_path: Path):
    path = tmp_path / "state.db"
    newer(path)
    for command in ("serve", "check-config"):
        ended = toolscout(command, "--port", "0", "--store", f"sqlite:{path}")
        assert ended.returncode == 2
        assert "schema is version 99" in ended.stderr
        assert len(ended.stderr.splitlines()) == 1


async def test_a_process_goes_on_when_another_cannot_use_its_file(tmp_path: Path):
    path = tmp_path / "state.db"
    first = SqliteStore(path)
    await first.put("before", b"value")
    newer(path)
    second = SqliteStore(path)
    with pytest.raises(StoreUnavailable, match="version 99"):
        await second.get("before")
    await first.put("after", b"value")
    assert await first.keys("") == ["after", "before"]
    await asyncio.gather(first.close(), second.close())
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM kept").fetchone() == (2,)


async def test_an_empty_file_becomes_a_store(tmp_path: Path):
    (tmp_path / "state.db").write_bytes(b"")
    store = SqliteStore(tmp_path / "state.db")
    await store.put("key", b"value")
    assert await store.get("key") == b"value"
    await store.close()


async def test_lists_that_can_be_compiled_again_make_room_and_nothing_else_does(tmp_path: Path):
    limit = 1 << 20
    store = SqliteStore(tmp_path / "state.db", max_bytes=limit)
    blob = b"x" * 50_000
    await store.put("registered/acme/a", blob, ttl_s=1)
    await store.append("learning/acme", [blob], keep=10)
    for number in range(60):
        await store.put(f"catalog/acme/{number}", blob, ttl_s=100 + number)
        assert (tmp_path / "state.db").stat().st_size <= limit + 8 * 4_096
    kept = await store.keys("catalog/")
    assert "catalog/acme/59" in kept
    assert "catalog/acme/0" not in kept
    assert await store.get("registered/acme/a") == blob
    assert len(await store.read("learning/acme")) == 1
    taken = 0
    with suppress(StoreUnavailable):
        for taken in range(60):
            await store.put(f"registered/acme/{taken}", blob)
    assert 10 < taken < 20
    assert await store.keys("catalog/") == []
    assert await store.get("registered/acme/0") == blob
    await store.close()


async def test_what_has_expired_is_removed_a_little_with_every_write(tmp_path: Path):
    now = [0.0]
    store = SqliteStore(tmp_path / "state.db", clock=lambda: now[0])
    for number in range(10):
        await store.put(f"catalog/acme/{number}", b"x", ttl_s=1)
    now[0] = 2.0

    def left() -> int:
        with sqlite3.connect(tmp_path / "state.db") as db:
            (count,) = db.execute("SELECT count(*) FROM kept WHERE key LIKE 'catalog%'").fetchone()
            return int(count)

    counts = []
    for _ in range(4):
        await store.put("other", b"x")
        counts.append(left())
    assert counts == [6, 2, 0, 0]
    await store.close()


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


async def test_what_was_removed_or_dropped_is_in_no_file_any_more(tmp_path: Path):
    path = tmp_path / "state.db"
    store = SqliteStore(path)
    for log in ("removed", "dropped"):
        await store.append(log, [f"plugh{log}{n}".encode() * 9 for n in range(500)], keep=1_000)
    await store.remove("removed", [entry.position for entry in await store.read("removed")])
    await store.drop("dropped")
    assert not [file for file in tmp_path.iterdir() if b"plugh" in file.read_bytes()]
    await store.close()


@pytest.mark.parametrize("foreign", ["text", 10**12, 1.5])
async def test_what_another_program_wrote_is_read_as_bytes(tmp_path: Path, foreign: str | float):
    path = tmp_path / "state.db"
    store = SqliteStore(path)
    await store.put("key", b"value")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE kept SET value = ?", (foreign,))
        db.execute("INSERT INTO entries (log, value) VALUES ('log', ?)", (foreign,))
    written = str(foreign).encode()
    assert await store.get("key") == written
    (entry,) = await store.read("log")
    assert entry.value == written
    assert await store.has_entry("log", entry)
    await store.close()
