"""Keys change while the service runs, and a wrong file changes nothing."""

import json
import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support import Process, running, toolscout, until
from toolscout.settings_sources import find_secret_file, load

OLD = "acme=old-0123456789abcdef0123456789abcdef"
NEW = "acme=new-0123456789abcdef0123456789abcdef"
BODY = {"pattern": "read a file", "tools": [{"name": "read_file"}]}


def status(server: Process, entry: str) -> int:
    key = entry.partition("=")[2] or "none"
    return server.post(BODY, headers={"authorization": f"Bearer {key}"}).status_code


def events(server: Process, event: str) -> list[dict]:
    whole = server.stdout.rpartition("\n")[0]  # the last line may be on its way
    lines = [json.loads(line) for line in whole.splitlines()]
    return [line for line in lines if line["event"] == event]


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Process, Path]]:
    """Yield a service that follows a key file, and the file, which everybody may write at first."""
    folder = tmp_path_factory.mktemp("rotation")
    file = folder / "keys"
    file.write_text(OLD, "utf-8")
    file.chmod(0o666)
    with running(folder, TOOLSCOUT_API_KEYS_FILE=str(file)) as server:
        yield server, file


def read_again(server: Process) -> None:
    """Have the file read, and wait until it was."""
    before = len(events(server, "files_read"))
    server.signal(signal.SIGHUP)
    until(lambda: len(events(server, "files_read")) > before)


def test_a_file_that_everybody_may_write_is_warned_of_once(followed: tuple[Process, Path]):
    server, file = followed
    until(lambda: bool(events(server, "keys_unprotected")))
    read_again(server)
    assert len(events(server, "keys_unprotected")) == 1
    file.chmod(0o600)


def replace(file: Path, text: str) -> None:
    """Replace a file in one step, so that nobody reads half of it."""
    new = file.with_suffix(".new")
    new.write_text(text, "utf-8")
    new.replace(file)


def test_keys_rotate_without_a_restart_and_a_bad_file_keeps_them(tmp_path: Path):
    file = tmp_path / "keys"
    file.write_text(OLD, "utf-8")
    with running(tmp_path, TOOLSCOUT_API_KEYS_FILE=str(file)) as server:
        assert (status(server, OLD), status(server, NEW)) == (200, 401)

        replace(file, f"{OLD}\n{NEW}\n")
        until(lambda: len(events(server, "keys_changed")) == 1)
        assert (status(server, OLD), status(server, NEW)) == (200, 200)

        replace(file, NEW)
        read_again(server)
        assert (status(server, OLD), status(server, NEW)) == (401, 200)
        assert len(events(server, "keys_changed")) == 2

        wrong = ("acme=too-short-to-be-a-key", "", "acme=short", None)
        for kept, text in enumerate(wrong, 1):
            if text is None:
                file.unlink()
            else:
                replace(file, text)
            read_again(server)
            assert len(events(server, "keys_kept")) == kept
            assert (status(server, NEW), status(server, "")) == (200, 401)
        assert all(line["level"] == "error" for line in events(server, "keys_kept"))
        assert server.metric('toolscout_key_changes_total{result="ok"}') == 2
        assert server.metric('toolscout_key_changes_total{result="refused"}') == len(wrong)
        for secret in (OLD, NEW, wrong[0]):
            assert secret.partition("=")[2] not in server.stdout + server.stderr


def test_when_the_first_key_of_a_tenant_ends_is_a_metric_that_follows_the_file(
    followed: tuple[Process, Path],
):
    server, file = followed
    sample = 'toolscout_key_expiry_timestamp_seconds{tenant="acme"}'
    file.write_text(f"{OLD};expires=2090-01-31\n{NEW};expires=2091-01-31\n", "utf-8")
    read_again(server)
    assert server.metric(sample) == datetime(2090, 1, 31, tzinfo=UTC).timestamp()
    file.write_text(f"{OLD}\n{NEW};expires=2091-01-31\n", "utf-8")
    read_again(server)
    assert server.metric(sample) == datetime(2091, 1, 31, tzinfo=UTC).timestamp()
    file.write_text(OLD, "utf-8")
    read_again(server)
    assert "toolscout_key_expiry_timestamp_seconds{" not in server.get("/metrics").text


def test_sighup_has_the_file_read_at_once(followed: tuple[Process, Path]):
    server, file = followed
    file.write_text(OLD, "utf-8")
    read_again(server)
    assert status(server, OLD) == 200
    file.write_text(NEW, "utf-8")
    read_again(server)
    assert (status(server, OLD), status(server, NEW)) == (401, 200)


def test_only_keys_from_a_secret_file_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "keys"
    file.write_text(OLD, "utf-8")
    assert find_secret_file(load(), "api_keys") is None
    monkeypatch.setenv("TOOLSCOUT_API_KEYS_FILE", str(file))
    assert find_secret_file(load(), "api_keys") == file
    monkeypatch.setenv("TOOLSCOUT_API_KEYS", NEW)
    assert find_secret_file(load(), "api_keys") is None


def test_a_key_file_may_have_comments_and_a_byte_order_mark(followed: tuple[Process, Path]):
    server, file = followed
    file.write_text(f"\ufeff{OLD}\n#{NEW}\n", "utf-8")
    read_again(server)
    assert (status(server, OLD), status(server, NEW)) == (200, 401)
    file.write_text(f"# both\n{OLD} # old\n{NEW}\n", "utf-8-sig")
    read_again(server)
    assert status(server, NEW) == 200
    assert status(server, OLD) == 200


def test_a_pipe_in_place_of_the_file_stops_nothing(followed: tuple[Process, Path]):
    """The last one: it ends the service."""
    server, file = followed
    file.write_text(OLD, "utf-8")
    read_again(server)
    file.unlink()
    os.mkfifo(file)
    read_again(server)
    assert events(server, "keys_kept")
    assert status(server, OLD) == 200
    server.process.terminate()
    assert server.wait() == 0
    done = toolscout("serve", TOOLSCOUT_API_KEYS_FILE=str(file))
    assert done.returncode == 2
    assert "no regular file" in done.stderr
