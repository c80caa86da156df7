"""What would be published: what is in wheel and source distribution, and how they are used."""

import os
import sys
import tarfile
import textwrap
import zipfile
from pathlib import Path

import pytest

from tests.integration.test_fresh_install import ROOT, run
from tests.package_page import read_metadata
from tests.support import environment, ran
from toolscout.ranking.native import extension

pytestmark = pytest.mark.integration

CONSUMER = """
from toolscout import Engine
from toolscout.client import AsyncSelector, Selection, Selector
from toolscout.discovery import ToolDiscovery, load


def names(query: str, tools: list[dict[str, object]]) -> list[str]:
    with Selector("http://127.0.0.1:8080") as selector:
        selection: Selection[dict[str, object]] = selector.select(query, tools, top_k=5)
    return selection.names


async def later(selector: AsyncSelector) -> bool:
    return (await selector.select("x", [])).fell_open


discovery = ToolDiscovery(load("gateway.yaml"))
found: list[str] = Engine([]).search("x").names
"""


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both, the wheel made from the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    environ = os.environ | {"TOOLSCOUT_NATIVE": "off"}
    ran([sys.executable, "-m", "build", "--outdir", folder, ROOT], env=environ)
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    return next(dist.glob("*.whl"))


@pytest.fixture(scope="module")
def client(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with the base install."""
    folder = tmp_path_factory.mktemp("client") / "venv"
    run(sys.executable, "-m", "venv", folder)
    run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", wheel)
    return folder / "bin" / "python"


def test_the_wheel_has_the_package_and_nothing_else(wheel: Path):
    names = set(zipfile.ZipFile(wheel).namelist())
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"toolscout"}
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "service"]
    known = [name for name in ran(listed, cwd=ROOT).stdout.split() if name[-2:] not in (".c", ".h")]
    shipped = {name for name in names if name.startswith("toolscout/")}
    assert shipped == {name.removeprefix("service/") for name in known}
    for needed in ("py.typed", "model/model.safetensors", "data/synonyms.toml"):
        assert f"toolscout/{needed}" in shipped


def test_with_a_compiler_the_wheel_is_of_its_platform_and_twice_the_same(tmp_path: Path):
    if extension.describe() == "python (not built)":
        pytest.skip("there is no compiler, or no headers of Python")
    built = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        ran([sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT])
        built.append(next(folder.glob("*.whl")))
    assert built[0].name.split("-")[-1] != "any.whl"
    assert built[0].read_bytes() == built[1].read_bytes()
    names = zipfile.ZipFile(built[0]).namelist()
    assert [name for name in names if name.startswith("toolscout/ranking/native/_join")]


def test_without_a_compiler_the_wheel_is_pure(tmp_path: Path):
    environ = os.environ | {"CC": "no-such-compiler"}
    ran([sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, ROOT], env=environ)
    assert next(tmp_path.glob("*.whl")).name.endswith("-py3-none-any.whl")


def test_the_source_has_what_the_wheel_is_built_from(dist: Path):
    with tarfile.open(next(dist.glob("*.tar.gz"))) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {"README.md", "LICENSE", "THIRD_PARTY.md", "CHANGELOG.md", "openapi.yaml"} <= names
    assert "service/toolscout/model/model.safetensors" in names
    assert "service/toolscout/ranking/native/join.h" in names
    assert "skills/add-toolscout/SKILL.md" in names
    assert not [name for name in names if name.startswith(("tests", "evals", "deploy", "docs"))]


def test_the_metadata_is_complete(wheel: Path):
    said = read_metadata(wheel)
    assert said["Name"] == "toolscout"
    assert said["License-Expression"] == "Apache-2.0"
    assert said.get_all("License-File") == ["LICENSE", "THIRD_PARTY.md"]
    assert said["Description-Content-Type"] == "text/markdown"
    assert said["Keywords"]
    urls = dict(each.split(", ") for each in said.get_all("Project-URL", []))
    assert urls.get("Repository", "") == os.environ.get("REPOSITORY_URL", "")
    assert len(said.get_all("Classifier", [])) > 10
    always = [one for one in said.get_all("Requires-Dist", []) if "extra ==" not in one]
    assert {one.partition("<")[0].partition(">")[0] for one in always} == {
        "httpcore2",
        "httpx2",
        "msgspec",
    }


def test_wheel_and_source_have_the_same_page_whose_links_lead_somewhere(tmp_path: Path):
    place = "https://git.example.org/them/toolscout"
    environ = environment() | {"REPOSITORY_URL": place}
    ran([sys.executable, "-m", "build", "--outdir", tmp_path, ROOT], env=environ)
    ran([sys.executable, "-m", "tests.package_page", *tmp_path.iterdir()], cwd=ROOT)
    wheel = read_metadata(next(tmp_path.glob("*.whl")))
    source = read_metadata(next(tmp_path.glob("*.tar.gz")))
    assert f"({place}/blob/v" in wheel.get_payload()
    assert wheel.get_payload() == source.get_payload()
    assert f"Repository, {place}" in wheel.get_all("Project-URL", [])


def test_the_client_brings_no_more_than_its_two_libraries_need(client: Path):
    listed = run(client, "-m", "pip", "list", "--format", "freeze").lower().split()
    names = {line.partition("==")[0] for line in listed} - {"pip", "setuptools", "toolscout"}
    assert {"httpx2", "msgspec"} <= names
    transport = {"anyio", "certifi", "h11", "httpcore2", "idna", "truststore", "typing_extensions"}
    assert names - {"httpx2", "msgspec"} <= transport


def test_a_strict_type_checker_understands_it(client: Path, tmp_path: Path):
    (tmp_path / "consumer.py").write_text(textwrap.dedent(CONSUMER), "utf-8")
    check = [sys.executable, "-m", "mypy", "--strict", "--python-executable", client]
    assert "Success" in run(*check, "consumer.py", cwd=tmp_path)
    (tmp_path / "wrong.py").write_text(
        "from toolscout.client import Selector\nSelector(5).select(5, [])\n", "utf-8"
    )
    refused = ran([str(part) for part in (*check, "wrong.py")], status=None, cwd=tmp_path)
    assert "Found 2 errors" in refused.stdout
