"""The load test itself: every kind of caller gets what it should, and figures are left behind."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import environment, ran

pytestmark = [pytest.mark.integration, pytest.mark.alone]

ROOT = Path(__file__).parents[2]


def load(*flags: object) -> subprocess.CompletedProcess[str]:
    """Run the load test to its end."""
    command = [sys.executable, "-m", "loadtests", *map(str, flags)]
    return ran(command, status=None, cwd=ROOT, env=environment())


def test_load_leaves_a_table_a_report_and_no_errors(tmp_path: Path):
    done = load("--seconds", 5, "--out", tmp_path, "--users", 17)
    assert "budget over all calls" in done.stdout, done.stdout + done.stderr
    with (tmp_path / "load_stats.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["Name"]: row for row in csv.DictReader(file)}
    expected = {"inline 50", "inline 300", "inline 1,000", "digest", "after cold 300", "bad client"}
    assert expected <= rows.keys()
    for row in rows.values():
        assert int(row["Failure Count"]) == 0, row
    assert "<html" in (tmp_path / "load.html").read_text("utf-8")


def test_a_soak_says_whether_the_process_grew(tmp_path: Path):
    done = load("--soak", "--seconds", 30, "--out", tmp_path)
    print(f"\n{done.stdout[done.stdout.rindex('budget over') :]}")
    assert "growth: none" in done.stdout, done.stdout + done.stderr


def test_load_on_a_service_that_is_not_there_is_missed(tmp_path: Path):
    done = load("--seconds", 2, "--out", tmp_path, "--users", 17, "--host", "http://127.0.0.1:9")
    assert done.returncode == 1
    assert "MISSED" in done.stdout
