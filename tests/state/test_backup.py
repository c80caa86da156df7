"""A backup of a store in a file is a store, and is restored where no other file's log lies."""

from pathlib import Path

import pytest

from tests.support import toolscout
from toolscout.state.sqlite import SqliteStore

pytestmark = pytest.mark.anyio


async def test_a_backup_made_while_it_is_used_is_a_store(tmp_path: Path):
    path, copy = tmp_path / "state.db", tmp_path / "copy.db"
    store = SqliteStore(path)
    await store.put("key", b"value")
    made = toolscout("backup", str(copy), "--store", f"sqlite:{path}")
    assert (made.returncode, made.stderr) == (0, "")
    again = toolscout("backup", str(copy), "--store", f"sqlite:{path}")
    assert again.returncode == 2
    assert "exists already" in again.stderr
    await store.close()
    restored = tmp_path / "new" / "state.db"
    restored.parent.mkdir()
    assert toolscout("restore", str(copy), "--store", f"sqlite:{restored}").returncode == 0
    other = SqliteStore(restored)
    assert await other.get("key") == b"value"
    await other.close()


async def test_no_copy_is_restored_beside_the_log_of_another_file(tmp_path: Path):
    """What that log has would be written into it."""
    path, copy = tmp_path / "state.db", tmp_path / "copy.db"
    store = SqliteStore(path)
    await store.put("key", b"value")
    assert toolscout("backup", str(copy), "--store", f"sqlite:{path}").returncode == 0
    await store.put("key", b"later")
    path.rename(tmp_path / "old.db")
    restoring = toolscout("restore", str(copy), "--store", f"sqlite:{path}")
    assert restoring.returncode == 2
    assert f"{path}-wal exists already" in restoring.stderr
    assert not path.exists()
    await store.close()


def test_only_a_sqlite_store_is_backed_up(tmp_path: Path):
    for store in ("memory", "redis://localhost"):
        ended = toolscout("backup", str(tmp_path / "copy.db"), "--store", store)
        assert ended.returncode == 2
        assert "only sqlite:PATH" in ended.stderr
    missing = toolscout("backup", str(tmp_path / "copy.db"), "--store", f"sqlite:{tmp_path}/no.db")
    assert missing.returncode == 2
    assert not (tmp_path / "copy.db").exists()
