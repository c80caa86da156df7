"""A store whose file is moved, deleted or replaced under it takes nothing that would be lost."""

import json
from pathlib import Path

import pytest

from tests.support import TOOLS, problem_of, running, until
from toolscout.state.sqlite import SqliteStore
from toolscout.state.store import StoreReplaced

pytestmark = pytest.mark.anyio

OFFICE = "/v1/catalogs/office"
LIST = json.dumps({"tools": TOOLS}).encode()


@pytest.mark.parametrize("how", ["moved", "deleted"])
async def test_a_file_that_is_gone_takes_no_writes_until_it_is_back(tmp_path: Path, how: str):
    path = tmp_path / "state.db"
    store = SqliteStore(path)
    await store.put("key", b"value")
    saved = path.rename(tmp_path / "saved.db") if how == "moved" else path.unlink()
    for _ in range(3):
        with pytest.raises(StoreReplaced, match="it is gone"):
            await store.put("key", b"lost")
        with pytest.raises(StoreReplaced):
            await store.get("key")
    assert not path.exists()
    if saved is not None:
        saved.rename(path)
        assert await store.get("key") == b"value"
    await store.close()


async def test_a_file_in_place_of_another_is_opened_after_one_refusal(tmp_path: Path):
    path, other = tmp_path / "state.db", tmp_path / "other.db"
    for file, value in ((path, b"old"), (other, b"new")):
        store = SqliteStore(file)
        await store.put("key", value)
        await store.close()
    store = SqliteStore(path)
    assert await store.get("key") == b"old"
    other.replace(path)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    with pytest.raises(StoreReplaced, match="another file"):
        await store.put("key", b"lost")
    assert await store.get("key") == b"new"
    await store.close()


def test_a_service_whose_file_is_moved_says_so_and_acknowledges_nothing(tmp_path: Path):
    path = tmp_path / "state.db"
    with running(tmp_path, "--store", f"sqlite:{path}") as server:
        assert server.send("PUT", OFFICE, LIST).status_code == 201
        path.rename(tmp_path / "old.db")
        problem_of(server.send("PUT", OFFICE, LIST), 503, "store_unavailable")
        until(lambda: "store_replaced" in server.stdout)
        assert server.search().status_code == 200
        assert "it is gone" in server.get("/readyz?verbose").json()["store"]
        (tmp_path / "old.db").rename(path)
        until(lambda: server.get(OFFICE).status_code == 200)
        until(lambda: "store_available" in server.stdout)
