"""Hosts' own files of servers, for tests of their import."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

SECRET = "sesame-of-mine"
GITHUB = {"command": "npx", "args": ["-y", "github", f"--key={SECRET}"], "env": {"TOKEN": SECRET}}
DOCS = {"type": "http", "url": f"https://docs.example/s/{SECRET}/mcp"}
GATEWAY = {"command": "toolscout", "args": ["mcp", "--config", "/elsewhere/mcp.json"]}

Run = Callable[..., tuple[int, str]]


def put(path: Path, content: Any, mode: int = 0o600) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2), "utf-8")
    path.chmod(mode)
    return path


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def servers_of(home: Path) -> dict[str, Any]:
    servers: dict[str, Any] = read(home / "mcp.json")["mcpServers"]
    return servers


def files_in(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
