"""Install the newest release of every dependency, also beyond the ranges of pyproject.toml."""

import argparse
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

EXTRAS = ("server", "mcp", "otel", "encoder", "redis", "postgres", "test")

EXACT = "=="
"""A requirement of exactly one release is a decision, as that of the site's theme."""


def newest(project: dict) -> Iterator[str]:
    """Yield the names of all dependencies, with their own extras, and without a range."""
    required = list(project["dependencies"])
    for extra in EXTRAS:
        required += project["optional-dependencies"][extra]
    for one in required:
        name = re.match(r"[\w.-]+(\[[\w,-]+\])?", one)
        if name and EXACT not in one and not one.startswith(project["name"]):
            yield name[0]


def main() -> int:
    """Install them into the environment of this interpreter, and list what they are."""
    text = Path(__file__).parents[1].joinpath("pyproject.toml").read_text("utf-8")
    names = sorted(set(newest(tomllib.loads(text)["project"])))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    # pip says which of them are beyond the ranges here, and installs them all the same.
    subprocess.run([*pip, "install", "--upgrade", *names], check=True)
    return subprocess.run([*pip, "list"], check=True).returncode


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m tests.newest", description=__doc__).parse_args()
    sys.exit(main())
