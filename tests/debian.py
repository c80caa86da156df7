"""Debian packages that a test needs and installs itself."""

import os
import shutil
import subprocess

import pytest


def need(**programs: str) -> None:
    """Install the packages (`program="package"`) whose programs are missing, or skip the test."""
    missing = [package for program, package in programs.items() if shutil.which(program) is None]
    if not missing:
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        pytest.skip(f"needs {', '.join(missing)}, and only root on Debian can install them")
    quiet = {"check": True, "capture_output": True}
    environ = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-q"], env=environ, **quiet)
    subprocess.run(["apt-get", "install", "-y", "-q", *missing], env=environ, **quiet)
