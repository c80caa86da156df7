"""Clients that are generated from openapi.yaml compile, strictly, and call the service."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.debian import need
from tests.support import Server

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).with_name("generated")
PACKAGES = (
    "@hey-api/openapi-ts@0.99",
    "@types/node@24",
    "openapi-typescript@7",
    "typescript@5",
)
COMPILE = ("tsc", "--strict", "--target", "es2022", "--module", "commonjs", "--outDir", "out")

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the generated code and the compiled programs."""
    need(recommended=False, node="nodejs", npm="npm")
    folder = tmp_path_factory.mktemp("generated")
    (folder / "package.json").write_text('{"private": true}', "utf-8")
    for program in PROGRAMS.glob("*.ts"):
        shutil.copy(program, folder)
    _run(folder, "npm", "install", "--silent", "--no-audit", "--no-fund", *PACKAGES)
    document = str(ROOT / "openapi.yaml")
    _run(folder, "npx", "openapi-typescript", document, "-o", "schema.d.ts")
    _run(folder, "npx", "openapi-ts", "-i", document, "-o", "client", "--silent")
    _run(folder, "npx", *COMPILE, "types.ts", "client.ts")
    return folder


@pytest.mark.parametrize("program", ["types", "client"])
def test_a_generated_client_finds_a_tool(compiled: Path, server: Server, program: str):
    """`types` has generated types around `fetch`, `client` is generated as a whole."""
    assert _run(compiled, "node", f"out/{program}.js", server.url) == "search_code"


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-2_000:]
    return done.stdout.strip()
