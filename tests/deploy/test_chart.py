"""The chart's values are the service's settings, and its version is the service's."""

import json
from pathlib import Path

import yaml

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


def test_the_chart_installs_this_version():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    assert chart["appVersion"] == __version__
