"""Debian packages that a test needs and installs itself."""

import os
import shutil
import subprocess

import pytest

from tests.support import one_by_one


def need(*, recommended: bool = True, **programs: str) -> None:
    """Install the packages (`program="package"`) whose programs are missing, or skip the test.

    `recommended=False` leaves out what the packages merely recommend.
    """
    programs = {program.replace("_", "-"): package for program, package in programs.items()}
    missing = [package for program, package in programs.items() if shutil.which(program) is None]
    if not missing:
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        pytest.skip(f"needs {', '.join(missing)}, and only root on Debian can install them")
    quiet = {"check": True, "capture_output": True}
    flags = [] if recommended else ["--no-install-recommends"]
    environ = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    with one_by_one():
        subprocess.run(["apt-get", "update", "-q"], env=environ, **quiet)
        subprocess.run(["apt-get", "install", "-y", "-q", *flags, *missing], env=environ, **quiet)
