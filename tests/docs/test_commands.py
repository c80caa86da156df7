"""Every command of the pages is run by a test, or is a measurement whose flags exist."""

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.commands import PAGES, ROOT, commands, program
from tests.support import environment, free_port, running, until
from toolscout.cli import parser

HERE = "tests/docs/test_commands.py"
BOOK = "tests/docs/test_cookbook.py"
CHART = "tests/integration/test_helm.py::test_kubernetes_takes_every_object"

RUN_BY = {
    "curl -s": f"{HERE}::test_the_calls_of_a_page_are_answered",
    "curl --cacert": f"{HERE}::test_certificates_made_as_shown_let_a_caller_in",
    "openssl": f"{HERE}::test_certificates_made_as_shown_let_a_caller_in",
    "for who": f"{HERE}::test_certificates_made_as_shown_let_a_caller_in",
    "make": f"{HERE}::test_a_target_exists",
    "source": "tests/test_completion.py::test_bash_completes_commands",
    "docker build": "tests/integration/test_image.py::test_the_image_is_small",
    "docker run": "tests/integration/test_image.py::"
    "test_the_image_serves_without_network_on_a_root_it_cannot_write",
    "docker compose": "tests/integration/test_readme.py::test_compose_takes_the_command",
    "printf 'acme": f"{HERE}::test_the_key_file_made_as_shown_is_one",
    "kubectl create secret": CHART,
    "helm install": "tests/integration/test_readme.py::test_the_chart_takes_the_command",
    "helm test": "tests/deploy/test_chart.py::test_what_helm_test_asks_is_answered",
    "pip install '.[engine]'": "tests/integration/test_fresh_install.py::"
    "test_the_engine_install_ranks_without_a_server",
    "pip install 'litellm[proxy]": "tests/integration/test_litellm_readme.py::"
    "test_the_curl_prints_what_the_page_shows",
    "pip install '.[server,otel]'": "tests/integration/test_image.py::test_the_image_is_small",
    "pip install '.[proxy]'": "tests/integration/test_fresh_install.py::"
    "test_the_proxy_install_serves_the_proxy",
    "pip install . ": f"{BOOK}::test_a_page_installs_what_its_example_says",
    "pip install .": f"{BOOK}::test_a_page_installs_what_its_example_says",
    "export OPENAI_BASE_URL": "tests/gateway/test_proxy.py::"
    "test_an_sdk_with_another_base_url_calls_what_was_found",
    "pip install -e '.[server,evals": f"{HERE}::test_the_extras_of_a_page_exist",
    "python3.11 -m venv": "tests/integration/test_fresh_install.py::"
    "test_the_mcp_install_serves_the_gateway",
    ".venv/bin/locust": "tests/integration/test_load.py::"
    "test_load_leaves_a_table_a_report_and_no_errors",
}
"""Which test does what each command (by how it begins) says."""


def test_every_command_is_run_by_a_test_or_measures_with_flags_that_exist():
    left = set(RUN_BY)
    for page in PAGES:
        for command in commands(page):
            known = [beginning for beginning in RUN_BY if command.startswith(beginning)]
            assert known or program(command) in ("toolscout", "python"), (page.name, command)
            left -= set(known)
    assert left == set()


@pytest.mark.parametrize("place", sorted(set(RUN_BY.values())))
def test_the_tests_that_run_them_are_there(place: str):
    file, _, name = place.partition("::")
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def of(wanted: str) -> list[str]:
    found = {command for page in PAGES for command in commands(page) if program(command) == wanted}
    return sorted(found)


def arguments(command: str, after: str) -> list[str]:
    """The arguments behind a program's name, without redirections."""
    return shlex.split(command.partition(after)[2].partition(">")[0])


@pytest.mark.parametrize("command", of("toolscout"))
def test_a_command_of_ours_takes_what_is_given(command: str):
    words = arguments(command, "toolscout ")
    assert parser().parse_args(words).run


MEASUREMENTS = [one for one in of("python") if " -m " in one and not one.startswith("python3.11")]


@pytest.mark.integration
@pytest.mark.parametrize("command", MEASUREMENTS)
def test_a_measurement_has_the_flags_that_are_given(command: str):
    module, *given = arguments(command, " -m ")
    command_line = [sys.executable, "-m", module, "--help"]
    done = subprocess.run(
        command_line, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for flag in [word for word in given if word.startswith("--")]:
        assert flag in done.stdout


@pytest.mark.parametrize("command", of("make"))
def test_a_target_exists(command: str):
    done = subprocess.run(
        ["make", "-n", *arguments(command, "make ")], cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == 0


@pytest.mark.parametrize("page", ["docs/catalogs.md", "docs/learning.md"])
def test_the_calls_of_a_page_are_answered(tmp_path: Path, page: str):
    with running(tmp_path, "--learning") as server:
        for command in [one for one in commands(ROOT / page) if one.startswith("curl")]:
            asked = command.replace("curl -s", "curl -sSf").replace("localhost:8080", server.url)
            done = subprocess.run(["sh", "-c", asked], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr


def test_the_extras_of_a_page_exist():
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    known = set(re.findall(r"^(\w+) = \[$", project, re.M))
    named = {
        extra
        for command in of("pip")
        for extras in re.findall(r"(?:\.|toolscout)\[([\w,]+)\]", command)
        for extra in extras.split(",")
    }
    assert len(named) > 2
    assert named <= known


def test_the_key_file_made_as_shown_is_one(tmp_path: Path):
    (command,) = of("printf")
    (tmp_path / "deploy").mkdir()
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    keys = str(tmp_path / "deploy" / "api-keys")
    with running(tmp_path, TOOLSCOUT_API_KEYS_FILE=keys) as server:
        assert server.search("read", [{"name": "read"}]).status_code == 401
        key = Path(keys).read_text("utf-8").strip().removeprefix("acme=")
        asked = {"authorization": f"Bearer {key}"}
        assert server.search("read", [{"name": "read"}], headers=asked).status_code == 200


def test_certificates_made_as_shown_let_a_caller_in(tmp_path: Path):
    page = commands(ROOT / "docs" / "operations.md")
    made = [one for one in page if one.startswith(("openssl", "for who"))]
    for command in made:
        subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, check=True)
    (serving,) = [one for one in page if "--tls-client-ca" in one]
    (asking,) = [one for one in page if one.startswith("curl --cacert")]
    port = free_port()
    service = subprocess.Popen(
        [sys.executable, "-m", *shlex.split(serving), "--port", str(port), "--drain-s", "0"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.DEVNULL,
    )
    try:
        ask = [*shlex.split(asking.replace(":8080", f":{port}")), "--silent", "--fail"]
        until(lambda: status(ask, tmp_path) == 0)
        without = [*ask[: ask.index("--cert")], *ask[ask.index("client.key") + 1 :]]
        assert status(without, tmp_path) != 0
    finally:
        service.terminate()
        service.wait()


def status(command: list[str], folder: Path) -> int:
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode


FIGURE = re.compile(r"\|\s*\**[−-]?\d*\.\d+\**\s*(?=\|)")
MAKER = re.compile(r"`?(?:make [a-z-]+|python -m [\w.]+)|tests/[\w/]+\.py|\.md[#)]")
"""A command, a test, or a page that names them."""


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: str(page.name))
def test_a_table_of_figures_names_what_made_it(page: Path):
    introduction, *sections = re.split(r"^(?=## )", page.read_text("utf-8"), flags=re.M)
    for section in (introduction, *sections):
        if len(FIGURE.findall(section)) > 2:
            assert MAKER.search(section) or MAKER.search(introduction), section[:80]
