"""What a server install consists of, and whether anything is known against it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.test_fresh_install import installed, serves
from tests.support import environment, ran

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("supply") / "venv"


def make(
    target: str, venv: Path, *variables: str, **environ: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["make", target, f"VENV={venv}", *variables],
        cwd=ROOT,
        env=environment(**environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.mark.nightly
def test_the_bill_of_materials_names_what_ships_and_nothing_else(environments: Path):
    done = make("sbom", environments)
    assert done.returncode == 0, done.stdout
    bill = json.loads((ROOT / "dist" / "sbom.cdx.json").read_text("utf-8"))
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["component"]["name"] == "toolscout"
    parts = {part["name"].lower(): part for part in bill["components"]}
    assert {"litestar", "uvicorn", "faiss-cpu", "model2vec", "msgspec", "redis"} <= parts.keys()
    assert not {"pytest", "ruff", "mypy", "locust", "pip"} & parts.keys()
    assert all(part["version"] for part in parts.values())


def test_nothing_is_known_against_what_ships(environments: Path):
    done = make("audit", environments, "AUDIT_MAY_SKIP=1")
    assert done.returncode == 0, done.stdout
    assert "No known vulnerabilities found" in done.stdout or "does not answer" in done.stdout
    print(f"\n{done.stdout.strip().splitlines()[-1]}")


def test_an_audit_that_cannot_ask_fails_unless_told(environments: Path):
    for variables, status in ([], 2), (["AUDIT_MAY_SKIP=1"], 0):
        done = make("audit", environments, *variables, https_proxy="http://127.0.0.1:9")
        assert (done.returncode, "does not answer" in done.stdout) == (status, True)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a release, made with this environment."""
    folder = tmp_path_factory.mktemp("release")
    done = make("dist", Path(sys.prefix), f"DIST={folder}")
    assert done.returncode == 0, done.stdout
    return folder


@pytest.mark.nightly
def test_a_release_has_both_packages_their_parts_and_their_sums(release: Path):
    assert sorted(path.suffix for path in release.iterdir()) == ["", ".gz", ".json", ".whl"]
    checked = ran(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=release).stdout
    assert checked.count(": OK") == 3
    bill = json.loads((release / "sbom.cdx.json").read_text("utf-8"))
    assert bill["metadata"]["component"]["name"] == "toolscout"


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_a_release_installs_into_an_empty_environment_and_serves(
    release: Path, tmp_path: Path, kind: str
):
    (package,) = release.glob(kind)
    serves(installed(tmp_path, f"{package}[server]"), tmp_path)
