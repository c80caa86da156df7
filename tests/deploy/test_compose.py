"""The composition: what it mounts is there, what it sets is a setting, what it names is pinned."""

from pathlib import Path
from typing import Any

import pytest
import yaml

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


@pytest.mark.parametrize("name", sorted(set(SERVICES) - set(REPLICAS)))
def test_images_of_others_are_pinned_to_a_version(name: str):
    tag = SERVICES[name]["image"].rpartition(":")[2]
    assert any(letter.isdigit() for letter in tag)


def test_nothing_is_open_to_other_machines():
    for service in SERVICES.values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_a_replica_is_stopped_only_after_it_has_drained():
    settings = load(environ={})
    patience = int(SERVICES["replica-1"]["stop_grace_period"].removesuffix("s"))
    assert patience > settings.drain_s + settings.shutdown_s
