"""Every caller gets through every case."""

import sys
from pathlib import Path

import pytest

from tests.support import ran

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.integration


@pytest.mark.nightly
def test_every_caller_gets_through_every_case():
    command = [sys.executable, "-m", "tests.callers"]
    ran(command, cwd=ROOT)
