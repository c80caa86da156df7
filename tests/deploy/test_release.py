"""What happens on a tag: actions by digest, few permissions, notes from the changelog."""

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.release_notes import CHANGELOG, notes_of
from tests.support import ran
from toolscout import __version__

FOLDER = Path(__file__).parents[2] / ".github" / "workflows"
WORKFLOWS: dict[str, Any] = {
    path.stem: yaml.safe_load(path.read_text("utf-8")) for path in FOLDER.glob("*.yml")
}
STEPS = [
    (f"{name}: {title}", step)
    for name, workflow in WORKFLOWS.items()
    for title, job in workflow["jobs"].items()
    for step in job["steps"]
]


@pytest.mark.parametrize("step", [step for _, step in STEPS], ids=[name for name, _ in STEPS])
def test_actions_are_pinned_by_digest_and_checkouts_keep_no_credentials(step: Any):
    if "uses" in step:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"])
    if step.get("uses", "").startswith("actions/checkout@"):
        assert step["with"]["persist-credentials"] is False


def test_a_release_may_write_only_where_it_has_to():
    release = WORKFLOWS["release"]
    assert release["permissions"] == {}
    writes = {
        name: {what for what, how in job["permissions"].items() if how == "write"}
        for name, job in release["jobs"].items()
    }
    assert writes == {
        "build": set(),
        "wheels": set(),
        "package": {"id-token", "attestations"},
        "image": {"packages", "id-token", "attestations"},
        "notes": {"contents"},
    }
    assert WORKFLOWS["ci"]["permissions"] == {"contents": "read"}


def test_nothing_of_an_event_is_written_into_a_shell():
    for _, step in STEPS:
        assert "${{ github." not in step.get("run", "")


def test_the_image_is_for_both_processors_on_a_base_by_digest():
    steps = WORKFLOWS["release"]["jobs"]["image"]["steps"]
    named = {step["id"]: step for step in steps if "id" in step}
    built = named["push"]["with"]
    assert built["platforms"] == "linux/amd64,linux/arm64"
    assert "BASE=${{ steps.base.outputs.pinned }}" in built["build-args"]
    assert steps.index(named["base"]) < steps.index(named["push"])
    dockerfile = (FOLDER.parents[1] / "Dockerfile").read_text("utf-8")
    arguments = set(re.findall(r"^ARG (\w+)", dockerfile, re.M))
    given = {line.partition("=")[0] for line in built["build-args"].splitlines()}
    assert given <= arguments


def test_the_base_is_named_by_what_its_registry_answers(tmp_path: Path):
    steps = WORKFLOWS["release"]["jobs"]["image"]["steps"]
    (script,) = [step["run"] for step in steps if step.get("id") == "base"]
    docker = tmp_path / "docker"
    docker.write_text('#!/bin/sh\necho "${DIGEST-sha256:abc}"\n', "utf-8")
    docker.chmod(0o755)
    output = tmp_path / "output"
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "GITHUB_OUTPUT": str(output)}
    shell = ["bash", "-e", "-o", "pipefail", "-c", script]
    ran(shell, cwd=FOLDER.parents[1], env=environ)
    assert output.read_text("utf-8") == "pinned=python:3.11-slim-bookworm@sha256:abc\n"
    ran(shell, status=1, cwd=FOLDER.parents[1], env=environ | {"DIGEST": "<no value>"})


def test_whatever_is_published_is_attested_the_list_of_sums_too():
    steps = WORKFLOWS["release"]["jobs"]["package"]["steps"]
    attested = [step["with"] for step in steps if "attest" in step.get("uses", "")]
    assert {"subject-checksums": "dist/SHA256SUMS"} in attested
    assert {"subject-path": "dist/SHA256SUMS"} in attested


def test_the_notes_are_those_of_the_version():
    text = "# Changelog\n\n## 0.2.0 (2030-01-02)\n\n- New\n\n## 0.1.0\n\n### Added\n\n- Old\n"
    assert notes_of("0.2.0", text) == "- New"
    assert notes_of("0.1.0", text) == "### Added\n\n- Old"
    assert notes_of("0.3.0", text) == ""
    assert "### Added" in notes_of(__version__, CHANGELOG.read_text("utf-8"))


def test_a_tag_of_another_version_is_refused():
    command = [sys.executable, "-m", "tests.release_notes", "--tag"]
    assert ran([*command, "v9.9.9"], status=1).stderr.startswith("the tag is v9.9.9, the package ")
    assert "### Added" in ran([*command, f"v{__version__}"]).stdout
