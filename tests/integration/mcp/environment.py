"""Published MCP servers of PyPI and npm, in an environment of their own."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from tests import debian
from tests.support import one_by_one

ROOT = Path(__file__).parents[3]
VENV = ROOT / ".venv-mcp"
PYTHON_PACKAGES = ("mcp-server-git>=2026,<2027", "mcp-server-time>=2026,<2027")
NODE_PACKAGES = (
    "@modelcontextprotocol/server-everything@^2026.8.31",
    "@modelcontextprotocol/server-filesystem@^2026.8.31",
    "oidc-provider@^9.13.3",
)


def installed() -> None:
    """Install the servers on first use."""
    debian.need(recommended=False, node="nodejs", npm="npm", git="git")
    done = VENV / ".installed"
    wanted = "\n".join((*PYTHON_PACKAGES, *NODE_PACKAGES))
    with one_by_one():
        if done.exists() and done.read_text("utf-8") == wanted:
            return
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        pip = [VENV / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *PYTHON_PACKAGES], check=True)
        npm = ["npm", "install", "--loglevel=error", "--no-audit", "--no-fund"]
        subprocess.run([*npm, "--prefix", VENV / "node", *NODE_PACKAGES], check=True)
        done.write_text(wanted, "utf-8")


def published(program: str, *arguments: str) -> dict[str, Any]:
    """Return the configuration of an installed server."""
    places = (VENV / "bin" / program, VENV / "node" / "node_modules" / ".bin" / program)
    (place,) = (place for place in places if place.exists())
    return {"command": str(place), "args": list(arguments)}
