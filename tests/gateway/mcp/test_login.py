"""Tokens of servers on disk, and logins that cannot be; tests/integration/mcp has one that can."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.mcp.hosts import write
from toolscout.cli import main
from toolscout.gateway.mcp.oauth import TokenFile

URL = "https://docs.example/mcp"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where tokens are kept."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "toolscout" / "mcp"


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ({"command": "x"}, 'login: no server a with a url and "auth": "oauth"'),
        ({"url": "http://127.0.0.1:1/mcp"}, "login: no server a with a url"),
        (
            {"url": "http://127.0.0.1:1/mcp", "auth": "oauth"},
            "a: no login: it cannot be reached at http://127.0.0.1:1/mcp",
        ),
    ],
)
def test_a_login_that_cannot_be_is_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    server: dict[str, Any],
    said: str,
):
    assert main(["mcp", "--config", str(write(tmp_path, {"a": server})), "--login", "a"]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith(f"toolscout: {said}")
    assert printed.count("\n") == 1


def put(file: TokenFile, value: str) -> None:
    asyncio.run(file.put("key", {"value": value}, collection="tokens"))


def get(file: TokenFile) -> Any:
    return asyncio.run(file.get("key", collection="tokens"))


def test_only_the_owner_can_read_the_tokens_of_a_server(folder: Path):
    put(TokenFile(URL), "first")
    assert get(TokenFile(URL)) == {"value": "first"}
    assert get(TokenFile(f"{URL}/other")) is None
    (path,) = folder.iterdir()
    path.chmod(0o644)
    put(TokenFile(URL), "second")
    assert (path.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
    assert "docs" not in path.name


def test_another_login_replaces_all_that_is_kept_but_not_before_it_is_done():
    put(TokenFile(URL), "old")
    login = TokenFile(URL, is_new=True)
    assert get(login) is None
    assert get(TokenFile(URL)) == {"value": "old"}
    put(login, "new")
    assert get(TokenFile(URL)) == {"value": "old"}
    login.save()
    assert get(login) == get(TokenFile(URL)) == {"value": "new"}
    assert asyncio.run(login.delete("key", collection="tokens"))
    assert get(TokenFile(URL)) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"tokens": 5}', bytes(100)])
def test_a_damaged_file_is_as_good_as_none(folder: Path, content: bytes):
    put(TokenFile(URL), "x")
    (path,) = folder.iterdir()
    path.write_bytes(content)
    assert get(TokenFile(URL)) is None
    put(TokenFile(URL), "y")
    assert get(TokenFile(URL)) == {"value": "y"}
