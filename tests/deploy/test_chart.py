"""The chart's values are the service's settings, and its version is the service's."""

import json
import subprocess
import sys
from pathlib import Path

import yaml

from tests.conftest import ZENITH
from tests.support import Process, ran
from toolscout import __version__
from toolscout.settings import BY_NAME, SETTINGS

CHART = Path(__file__).parents[2] / "deploy" / "helm" / "toolscout"
OF_THEIR_OWN = {"host", "port", "api_keys", "store", "tls_cert", "tls_key", "tls_client_ca"}
"""Settings that the chart gives by other values."""


def test_every_setting_and_no_other_is_a_value():
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    known = schema["properties"]["settings"]["properties"]
    assert set(known) == {setting.name for setting in SETTINGS} - OF_THEIR_OWN
    for name, field in known.items():
        if BY_NAME[name].choices:
            assert field["enum"] == list(BY_NAME[name].choices)


def test_every_value_of_the_chart_is_in_its_schema():
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    values = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
    for name, value in values.items():
        field = schema["properties"][name]
        if isinstance(value, dict) and "properties" in field and name != "settings":
            assert set(value) == set(field["properties"])


def test_every_value_is_in_the_readme():
    values = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
    readme = (CHART / "README.md").read_text("utf-8")
    assert [name for name in values if f"`{name}`" not in readme] == []


def test_what_helm_test_asks_is_answered(keyed: Process, tmp_path: Path):
    keys = tmp_path / "api-keys"
    keys.write_text(f"zenith={ZENITH}\nother={'x' * 40}\n", "utf-8")
    command = [sys.executable, CHART / "files" / "ask.py"]
    told = {"TOOLSCOUT_URL": keyed.url, "TOOLSCOUT_API_KEYS_FILE": str(keys)}
    done = ran(command, env=told)
    assert "read_file" in done.stdout
    keys.write_text(f"zenith={'y' * 40}\n", "utf-8")
    assert subprocess.run(command, env=told, capture_output=True, check=False).returncode == 1


def test_the_chart_installs_this_version():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    assert chart["appVersion"] == __version__
