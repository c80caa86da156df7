"""Other languages: linters of openapi.yaml, generated clients and a request by hand, all run."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.debian import need
from tests.support import Process, ran

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).with_name("generated")
PACKAGES = tuple(
    (
        "@hey-api/openapi-ts@0.99 @redocly/cli@2 @stoplight/spectral-cli@6 @types/node@24 "
        "openapi-typescript@7 typescript@5"
    ).split()
)
COMPILE = ("tsc", "--strict", "--target", "es2022", "--module", "commonjs", "--outDir", "out")

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the generated code and the compiled programs."""
    need(recommended=False, node="nodejs", npm="npm")
    folder = tmp_path_factory.mktemp("generated")
    (folder / "package.json").write_text('{"private": true}', "utf-8")
    for program in PROGRAMS.glob("*.ts"):
        shutil.copy(program, folder)
    _run(folder, "npm", "install", "--loglevel=error", "--no-audit", "--no-fund", *PACKAGES)
    document = str(ROOT / "openapi.yaml")
    _run(folder, "npx", "openapi-typescript", document, "-o", "schema.d.ts")
    _run(folder, "npx", "openapi-ts", "-i", document, "-o", "client", "--silent")
    _run(folder, "npx", *COMPILE, "types.ts", "client.ts")
    return folder


@pytest.mark.parametrize("program", ["types", "client"])
def test_a_generated_client_finds_a_tool(compiled: Path, server: Process, program: str):
    """`types` has generated types around `fetch`, `client` is generated as a whole."""
    assert _run(compiled, "node", f"out/{program}.js", server.url) == "search_code"


def test_redocly_has_nothing_to_say(compiled: Path):
    told = _run(compiled, "npx", "redocly", "lint", "--format", "json", str(ROOT / "openapi.yaml"))
    assert json.loads(told)["problems"] == []


def test_spectral_has_nothing_to_say(compiled: Path):
    (compiled / ".spectral.yaml").write_text("extends: [spectral:oas]\n", "utf-8")
    _run(compiled, "npx", "spectral", "lint", "--fail-severity=hint", str(ROOT / "openapi.yaml"))


def test_the_request_in_go_is_answered(tmp_path: Path, server: Process):
    need(recommended=False, go="golang-go")
    page = (ROOT / "docs" / "client.md").read_text("utf-8")
    (program,) = re.findall(r"^```go\n(.*?)^```", page, re.S | re.M)
    assert "It prints `[send_email]`." in page
    (tmp_path / "main.go").write_text(program.replace("http://127.0.0.1:8080", server.url), "utf-8")
    assert _run(tmp_path, "go", "vet", "main.go") == ""
    assert _run(tmp_path, "gofmt", "-l", "main.go") == ""
    assert _run(tmp_path, "go", "run", "main.go") == "[send_email]"


def _run(folder: Path, *command: str) -> str:
    done = ran(command, cwd=folder)
    return done.stdout.strip()
