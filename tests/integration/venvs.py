"""Environments of their own, for packages that cannot be installed beside this one's."""

import fcntl
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]


def interpreter(folder: Path, packages: Sequence[str]) -> Path:
    """Return the interpreter of an environment with these packages, made on first use."""
    done = folder / ".installed"
    wanted = "\n".join(packages)
    with Path(__file__).open() as lock:  # processes that run tests side by side share it
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists() or done.read_text("utf-8") != wanted:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            flags = ["--quiet", "--disable-pip-version-check"]
            subprocess.run([folder / "bin" / "pip", "install", *flags, *packages], check=True)
            done.write_text(wanted, "utf-8")
    return folder / "bin" / "python"
