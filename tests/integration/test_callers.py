"""Every caller gets through every case."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.integration


@pytest.mark.nightly
def test_every_caller_gets_through_every_case():
    command = [sys.executable, "-m", "tests.callers"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
