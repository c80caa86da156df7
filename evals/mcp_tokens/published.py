"""Nine published MCP servers of npm and PyPI, installed into a folder of their own."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

PYTHON = {
    "servers": ("mcp-server-git>=2026,<2027", "mcp-server-time>=2026,<2027", "mcp-server-fetch"),
    "older": ("mcp-server-sqlite", "mcp<2"),
}
"""Packages of PyPI by their environment; the last server needs the first major version of mcp."""

NODE = (
    *(f"@modelcontextprotocol/server-{name}" for name in ("everything", "filesystem", "memory")),
    "@modelcontextprotocol/server-sequential-thinking",
    "@playwright/mcp",
)


def install(folder: Path) -> None:
    """Install the servers on first use; needs npm and node."""
    done, wanted = folder / ".installed", json.dumps([PYTHON, NODE])
    if done.exists() and done.read_text("utf-8") == wanted:
        return
    for name, packages in PYTHON.items():
        subprocess.run([sys.executable, "-m", "venv", folder / name], check=True)
        pip = [str(folder / name / "bin" / "pip"), "install", "--quiet"]
        subprocess.run([*pip, "--disable-pip-version-check", *packages], check=True)
    npm = [
        "npm",
        "install",
        "--silent",
        "--no-audit",
        "--no-fund",
        "--prefix",
        str(folder / "node"),
    ]
    subprocess.run([*npm, *NODE], check=True)
    done.write_text(wanted, "utf-8")


def servers(folder: Path, work: Path) -> dict[str, dict[str, Any]]:
    """Return the configuration of the installed servers, for a folder with what they work on."""

    def python(name: str, *arguments: str, of: str = "servers") -> dict[str, Any]:
        return {"command": str(folder / of / "bin" / f"mcp-server-{name}"), "args": [*arguments]}

    def node(name: str, *arguments: str, **env: str) -> dict[str, Any]:
        program = folder / "node" / "node_modules" / ".bin" / name
        return {"command": str(program), "args": [*arguments], "env": env}

    return {
        "everything": node("mcp-server-everything"),
        "filesystem": node("mcp-server-filesystem", str(work / "files")),
        "memory": node("mcp-server-memory", MEMORY_FILE_PATH=str(work / "memory.jsonl")),
        "sequential-thinking": node("mcp-server-sequential-thinking"),
        "playwright": node("playwright-mcp", "--headless"),
        "git": python("git"),
        "fetch": python("fetch", "--ignore-robots-txt", "--allow-private-ips"),
        "time": python("time", "--local-timezone", "UTC"),
        "sqlite": python("sqlite", "--db-path", str(work / "shop.db"), of="older"),
    }


def prepare(work: Path) -> None:
    """Make what the tasks work on: files, a repository, a memory and a database, as they begin."""
    files = work / "files"
    files.mkdir(parents=True)
    (files / "milk.txt").write_text("two litres of milk", "utf-8")
    page = "<article><p>The ferry leaves at nine, and is back at noon.</p></article>"
    (files / "index.html").write_text(f"<html><body>{page}</body></html>", "utf-8")
    git: list[str] = [
        "git",
        "-C",
        str(files),
        "-c",
        "user.name=Ada",
        "-c",
        "user.email=ada@example.org",
    ]
    for command in (["init", "--quiet"], ["add", "milk.txt"], ["commit", "-qm", "Buy milk"]):
        subprocess.run([*git, *command], check=True)
    with sqlite3.connect(work / "shop.db") as shop:
        shop.execute("create table orders (id integer, total real)")
    reset(work)


def reset(work: Path) -> None:
    """Make files, memory and database as they are before the tasks."""
    (work / "files" / "eggs.txt").unlink(missing_ok=True)
    fact = {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["at Acme"]}
    (work / "memory.jsonl").write_text(json.dumps(fact) + "\n", "utf-8")
    with sqlite3.connect(work / "shop.db") as shop:
        shop.execute("delete from orders")
        shop.execute("insert into orders values (1, 9.5), (2, 30.25)")
