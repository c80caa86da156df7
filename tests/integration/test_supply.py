"""What a server install consists of, and whether anything is known against it."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.support import environment

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("supply") / "venv"


def make(target: str, venv: Path) -> str:
    command = ["make", target, f"VENV={venv}"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_bill_of_materials_names_what_ships_and_nothing_else(environments: Path):
    make("sbom", environments)
    bill = json.loads((ROOT / "dist" / "sbom.cdx.json").read_text("utf-8"))
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["component"]["name"] == "toolscout"
    parts = {part["name"].lower(): part for part in bill["components"]}
    assert {"litestar", "uvicorn", "faiss-cpu", "model2vec", "msgspec", "redis"} <= parts.keys()
    assert not {"pytest", "ruff", "mypy", "locust", "pip"} & parts.keys()
    assert all(part["version"] for part in parts.values())


def test_nothing_is_known_against_what_ships(environments: Path):
    said = make("audit", environments)
    assert "No known vulnerabilities found" in said or "skipped:" in said
    print(f"\n{said.strip().splitlines()[-1]}")
