"""schemathesis finds nothing on the running server, all checks on; all phases in integration."""

import sys
from pathlib import Path

import pytest

from tests.conftest import ZENITH
from tests.support import Process, environment, ran

SETTINGS = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", "401", "403", "404", "412", "429", "5xx"]

# What `keep: postgres` needs is not in the schema: that store, and no `ttl_s`.
[[operations]]
include-path = "/v1/catalogs/{id}"
checks.positive_data_acceptance.expected-statuses = [
    "2xx", "3xx", "401", "403", "404", "412", "422", "429", "5xx",
]

[[operations]]
include-path = "/v1/catalogs/{id}/tools"
checks.positive_data_acceptance.expected-statuses = [
    "2xx", "304", "400", "401", "403", "404", "429", "5xx",
]
"""
"""An `If-Match` that it made up is of no catalog (412), a cursor of no list (400)."""


def test_schemathesis_finds_nothing_in_a_few_examples(keyed: Process, tmp_path: Path):
    find_nothing(keyed, tmp_path, "--phases", "fuzzing", examples=3)


@pytest.mark.integration
def test_schemathesis_finds_nothing_at_the_bounds_of_each_field(keyed: Process, tmp_path: Path):
    find_nothing(keyed, tmp_path, "--phases", "coverage", examples=3)


@pytest.mark.integration
@pytest.mark.nightly
def test_schemathesis_finds_nothing_in_many_examples(keyed: Process, tmp_path: Path):
    find_nothing(keyed, tmp_path, examples=60)


def find_nothing(keyed: Process, tmp_path: Path, *options: str, examples: int) -> None:
    (tmp_path / "schemathesis.toml").write_text(SETTINGS, "utf-8")
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{keyed.url}/openapi.json"]
    command += ["--checks", "all", "--max-examples", str(examples), "--seed", "1", "--workers", "1"]
    command += ["--warnings", "off"]  # names that it makes up are of no catalog
    command += [*options, "--header", f"Authorization: Bearer {ZENITH}", "--request-timeout", "30"]
    done = ran(command, cwd=tmp_path, env=environment(NO_COLOR="1", COLUMNS="100"), timeout=900)
    assert "No issues found" in done.stdout, done.stdout[-2_000:]
