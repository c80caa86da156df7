"""A model of the hub, from a server that answers as the hub does."""

import sys
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import msgspec
import pytest

from tests.support import environment, ran
from toolscout.index.static_model import BUNDLED_MODEL

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = ("config.json", "model.safetensors", "modules.json", "tokenizer.json", "README.md")


def listed(name: str) -> dict[str, object]:
    size = (BUNDLED_MODEL / name).stat().st_size
    return {"type": "file", "path": name, "size": size, "oid": name}


class Hub(BaseHTTPRequestHandler):
    """The files of one model at one commit."""

    def __init__(self, asked: list[str], *connection: object) -> None:
        self.asked = asked
        super().__init__(*connection)

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if self.path.startswith(f"/api/models/acme/tools/tree/{COMMIT}"):
            self.answer(msgspec.json.encode([listed(name) for name in FILES]))
        elif self.path.startswith(f"/acme/tools/resolve/{COMMIT}/"):
            self.answer((BUNDLED_MODEL / Path(self.path).name).read_bytes())
        else:
            self.send_error(404)

    def do_HEAD(self) -> None:
        self.do_GET()

    def answer(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{len(content)}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def hub(asked: list[str]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Hub, asked)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_it_is_loaded_as_it_was_at_its_commit_and_only_once(
    hub: str, asked: list[str], tmp_path: Path
):
    (tmp_path / "tools.json").write_text('[{"name": "get_weather"}, {"name": "pay"}]', "utf-8")
    command = [sys.executable, "-m", "toolscout", "search", "weather", "--tools", "tools.json"]
    environ = environment(HF_ENDPOINT=hub, HF_HOME=str(tmp_path / "hub"), HF_HUB_DISABLE_XET="1")
    for _ in range(2):
        done = ran(
            [*command, "--ranker", "semantic", "--model", f"acme/tools@{COMMIT}"],
            status=None,
            cwd=tmp_path,
            env=environ,
        )
        assert (done.returncode, done.stdout) == (0, "get_weather\n"), done.stderr
    downloaded = [path for path in asked if path.endswith("model.safetensors")]
    assert 0 < len(downloaded) <= 2  # its head and itself
    assert not any("README" in path for path in asked)
