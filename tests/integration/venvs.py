"""Environments of their own, for packages that cannot be installed beside this one's."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.support import one_by_one

ROOT = Path(__file__).parents[2]


def interpreter(folder: Path, packages: Sequence[str]) -> Path:
    """Return the interpreter of an environment with these packages, made on first use."""
    done = folder / ".installed"
    wanted = "\n".join(packages)
    with one_by_one():
        if not done.exists() or done.read_text("utf-8") != wanted:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            flags = ["--quiet", "--disable-pip-version-check"]
            subprocess.run([folder / "bin" / "pip", "install", *flags, *packages], check=True)
            done.write_text(wanted, "utf-8")
    return folder / "bin" / "python"
