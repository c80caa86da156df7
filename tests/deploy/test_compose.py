"""The composition: what it mounts is there, what it sets is a setting, what it names is pinned."""

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import ran
from toolscout.settings_sources import load

FOLDER = Path(__file__).parents[2] / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
REPLICAS = ("replica-1", "replica-2")


@pytest.mark.parametrize("name", REPLICAS)
def test_a_replica_is_configured_by_settings_that_exist(name: str, tmp_path: Path):
    given = dict(SERVICES[name]["environment"])
    keys = tmp_path / "api-keys"
    keys.write_text("acme=" + "k" * 48, "utf-8")
    given["TOOLSCOUT_API_KEYS_FILE"] = str(keys)
    settings = load(environ=given)
    assert settings.store == "redis://valkey:6379/0"
    assert "valkey" in SERVICES


@pytest.mark.parametrize("name", REPLICAS)
def test_a_replica_writes_nothing_and_may_do_nothing(name: str):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["tmpfs"] == ["/tmp"]
    assert "ports" not in service


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_an_image_has_a_version_and_a_variable_for_another(name: str):
    assert re.fullmatch(r"\$\{[A-Z]+_IMAGE:-[a-z/]+:v?\d[\w.-]+\}", SERVICES[name]["image"])


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_log_does_not_fill_the_disk(name: str):
    assert SERVICES[name]["logging"]["options"].keys() == {"max-size", "max-file"}


def test_one_command_names_every_image_by_its_digest(tmp_path: Path):
    """A stand-in for skopeo answers, because no registry can be reached from here."""
    (tmp_path / "deploy").mkdir()
    shutil.copy(FOLDER / "compose.yaml", tmp_path / "deploy")
    shutil.copy(FOLDER.parent / "Makefile", tmp_path)
    skopeo = tmp_path / "skopeo"
    skopeo.write_text(f"#!/bin/sh\nfor image; do :; done\necho sha256:{'a' * 64}\n", "utf-8")
    skopeo.chmod(0o755)
    images = ["GRAFANA_IMAGE=grafana/grafana:99.0", "TOOLSCOUT_IMAGE=example.org/toolscout:1"]
    path = f"{tmp_path}:{os.environ['PATH']}"
    ran(["make", "pin-images", *images], cwd=tmp_path, env=os.environ | {"PATH": path})
    written = (tmp_path / "deploy" / ".env").read_text("utf-8").splitlines()
    pinned = dict(line.split("=", 1) for line in written)
    assert all(image.endswith(f"@sha256:{'a' * 64}") for image in pinned.values())
    assert pinned["GRAFANA_IMAGE"].startswith("grafana/grafana:99.0@")
    variables = {re.findall(r"[A-Z_]+", one["image"])[0] for one in SERVICES.values()}
    assert pinned.keys() == variables


def test_what_is_waited_for_says_whether_it_is_healthy():
    waits = [service["depends_on"] for service in SERVICES.values() if "depends_on" in service]
    for other, wait in (pair for one in waits if isinstance(one, dict) for pair in one.items()):
        assert wait == {"condition": "service_healthy"}
        assert "healthcheck" in SERVICES[other] or other in REPLICAS  # whose image has one
    assert "HEALTHCHECK" in (FOLDER.parent / "Dockerfile").read_text("utf-8")


def test_grafana_has_no_account_that_a_default_password_opens():
    given = SERVICES["grafana"]["environment"]
    assert given["GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION"] == "true"
    assert given["GF_AUTH_ANONYMOUS_ORG_ROLE"] == "Viewer"


def test_alerts_reach_the_alertmanager_and_each_severity_a_receiver():
    config = yaml.safe_load((FOLDER / "prometheus" / "prometheus.yml").read_text("utf-8"))
    ((target,),) = (
        one["targets"] for one in config["alerting"]["alertmanagers"][0]["static_configs"]
    )
    assert target.partition(":")[0] in SERVICES
    routing = yaml.safe_load((FOLDER / "prometheus" / "alertmanager.yml").read_text("utf-8"))
    rules = (FOLDER / "helm" / "toolscout" / "files" / "rules.yml").read_text("utf-8")
    severities = set(re.findall(r"severity: (\w+)", rules))
    assert {receiver["name"] for receiver in routing["receivers"]} == severities


def test_nothing_is_open_to_other_machines():
    for service in SERVICES.values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_a_replica_is_stopped_only_after_it_has_drained():
    settings = load(environ={})
    patience = int(SERVICES["replica-1"]["stop_grace_period"].removesuffix("s"))
    assert patience > settings.drain_s + settings.shutdown_s
