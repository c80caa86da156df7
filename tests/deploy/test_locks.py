"""The locks that `make serve` and the image install from."""

import re
import tomllib
from itertools import combinations
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
LOCKS = ROOT / "deploy" / "locks"
EXTRAS = sorted(path.stem for path in LOCKS.glob("*.txt") if path.stem != "build")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def locked(name: str) -> list[tuple[Requirement, int]]:
    """Every entry of a lock, and how many hashes it has."""
    lines = (LOCKS / f"{name}.txt").read_text("utf-8").replace("\\\n", "")
    entries = [line for line in lines.splitlines() if not line.startswith(("#", " "))]
    return [
        (Requirement(entry.partition(" --hash")[0]), entry.count("--hash=sha256:"))
        for entry in entries
    ]


def asked(extra: str) -> list[Requirement]:
    """Return what an extra asks for, with that of the extras of ours which it names."""
    project = PROJECT["project"]
    texts = [*project["dependencies"], *project["optional-dependencies"][extra]]
    found = []
    for requirement in map(Requirement, texts):
        if requirement.name == "toolscout":
            found += [inner for name in requirement.extras for inner in asked(name)]
        else:
            found.append(requirement)
    return found


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("lock", ["build", *EXTRAS])
def test_every_entry_is_one_version_with_hashes(lock: str):
    for entry, hashes in locked(lock):
        assert [one.operator for one in entry.specifier] == ["=="]
        assert hashes


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_lock_has_what_its_extra_asks_for(extra: str):
    for wanted in asked(extra):
        versions = [
            next(iter(entry.specifier)).version
            for entry, _ in locked(extra)
            if normal(entry.name) == normal(wanted.name)
        ]
        assert versions, f"{wanted} is not in {extra}.txt: make lock"
        assert all(map(wanted.specifier.contains, versions)), f"{wanted}: make lock"


def test_the_server_is_locked_without_what_it_never_imports():
    """Litestar asks for polyfactory and so for faker, which make up data for tests."""
    assert not {entry.name for entry, _ in locked("server")} & {"faker", "polyfactory", "rich"}


def versions(lock: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for entry, _ in locked(lock):
        found.setdefault(entry.name, set()).add(str(entry.specifier))
    return found


@pytest.mark.parametrize(("one", "other"), list(combinations(EXTRAS, 2)))
def test_locks_agree_so_that_one_can_be_installed_beside_another(one: str, other: str):
    ours, theirs = versions(one), versions(other)
    shared = ours.keys() & theirs.keys()
    assert "msgspec" in shared
    assert {name: ours[name] for name in shared} == {name: theirs[name] for name in shared}


def test_what_builds_the_package_is_locked():
    (wanted,) = map(Requirement, PROJECT["build-system"]["requires"])
    assert wanted.name in {entry.name for entry, _ in locked("build")}


def test_the_image_can_be_built_with_every_extra_that_the_chart_knows():
    chart = (ROOT / "deploy" / "helm" / "toolscout" / "values.schema.json").read_text("utf-8")
    (names,) = re.findall(r'"items": \{"enum": (\["server".*?\])', chart)
    assert set(re.findall(r"\w+", names)) <= set(EXTRAS)
