"""The built package in an empty environment, used as its README says."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evals import programs
from tests.support import environment, free_port, ran

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.integration

ASK_THE_GATEWAY = """
import asyncio, json, sys
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

async def main():
    arguments = ["-m", "toolscout", "mcp", "--config", "mcp.json"]
    async with Client(StdioTransport(sys.executable, arguments, keep_alive=False)) as client:
        answer = {"tools": []}
        while not answer["tools"]:  # until its server has told it tools, however long that takes
            found = await client.call_tool("search_tools", {"query": "list the notes"})
            answer = json.loads(found.content[0].text)
        print(answer["tools"][0]["name"])

asyncio.run(main())
"""


def run(*command: object, **kwargs: object) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        check=False,
        capture_output=True,
        text=True,
        env=environment(),
        **kwargs,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT)
    return next(folder.glob("*.whl"))


def installed(folder: Path, package: object) -> Path:
    """Return the interpreter of a fresh environment with a package."""
    python = folder / "venv" / "bin" / "python"
    run(sys.executable, "-m", "venv", folder / "venv")
    run(python, "-m", "pip", "install", "--quiet", package)
    return python


def listed(python: Path) -> str:
    return run(python, "-m", "pip", "list", "--format", "freeze").lower()


def test_the_base_install_has_no_server(wheel: Path, tmp_path: Path):
    python = installed(tmp_path, wheel)
    run(python, "-c", "import toolscout, toolscout.contract, toolscout.client")
    packages = listed(python)
    missing = ran([python, "-c", "from toolscout import Engine"], status=1)
    assert "pip install '.[engine]'" in missing.stderr.splitlines()[-1]
    for heavy in ("faiss", "litestar", "model2vec", "numpy", "uvicorn"):
        assert heavy not in packages
    refused = ran([python, "-m", "toolscout", "serve"], status=2)
    assert "pip install '.[server]'" in refused.stderr


def test_the_proxy_install_serves_the_proxy(wheel: Path, tmp_path: Path):
    python = installed(tmp_path, f"{wheel}[proxy]")
    port = free_port()
    command = [python, "-m", "toolscout", "proxy", "--upstream", "http://127.0.0.1:9"]
    is_ready = lambda: programs.says_yes(f"http://127.0.0.1:{port}/healthz")  # noqa: E731
    command += ["--port", str(port)]
    with programs.running(command, is_ready, env=environment(), cwd=tmp_path) as proxy:
        pass
    assert proxy.returncode in (0, -signal.SIGTERM)


def test_the_mcp_install_serves_the_gateway(wheel: Path, tmp_path: Path):
    python = installed(tmp_path, f"{wheel}[mcp]")
    assert "litestar" not in listed(python)
    notes = ROOT / "tests" / "gateway" / "mcp" / "servers" / "notes.py"
    server = {"command": str(python), "args": [str(notes)]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"notes": server}}), "utf-8")
    answer = run(python, "-c", ASK_THE_GATEWAY, cwd=tmp_path)
    assert answer.strip() == "notes__list_notes"


def test_the_engine_install_ranks_without_a_server(wheel: Path, tmp_path: Path):
    python = installed(tmp_path, f"{wheel}[engine]")
    packages = listed(python)
    for unused in ("litestar", "uvicorn", "prometheus", "fastmcp"):
        assert unused not in packages
    program = """
from toolscout import Engine
tools = [{"name": "read_file", "description": "Open and read a file"},
         {"name": "send_mail", "description": "Send a message"}]
print(Engine(tools).search("send Ann a message", top_k=1).names)
"""
    assert run(python, "-c", program).strip() == "['send_mail']"


def test_the_server_install_answers_the_readme(wheel: Path, tmp_path: Path):
    serves(installed(tmp_path, f"{wheel}[server]"), tmp_path)


def serves(python: Path, folder: Path) -> None:
    """Run the service of an environment, and ask it what the README asks."""
    port = free_port()
    command = [python, "-m", "toolscout", "serve", "--port", str(port)]
    is_ready = lambda: programs.says_yes(f"http://127.0.0.1:{port}/readyz")  # noqa: E731
    with programs.running(command, is_ready, env=environment(), cwd=folder) as server:
        readme = (ROOT / "README.md").read_text("utf-8")
        curl = re.search(r"^```\w*\n(curl .*?)^```", readme, re.S | re.M)
        assert curl is not None
        asked = curl.group(1).replace("127.0.0.1:8080", f"127.0.0.1:{port}")
        answer = json.loads(run("sh", "-c", asked))
        promised = re.search(r"^```json\n(.*?)^```", readme, re.S | re.M)
        assert promised is not None
        assert answer == json.loads(promised.group(1))
    assert server.returncode == 0
