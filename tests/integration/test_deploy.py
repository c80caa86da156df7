"""What lies in `deploy`, checked by the programs that it is for."""

import re
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from tests import balancer, debian, wheels
from tests.certificates import Authority
from tests.support import environment, ran
from toolscout.settings_sources import load

pytestmark = pytest.mark.integration

DEPLOY = Path(__file__).parents[2] / "deploy"
RULES = DEPLOY / "helm" / "toolscout" / "files" / "rules.yml"


def checked(*command: object, **variables: str) -> str:
    """Return what a program says that accepts; it must neither refuse nor warn."""
    program, *rest = map(str, command)
    found = shutil.which(program) or shutil.which(program, path="/usr/sbin") or program
    done = ran([found, *rest], status=None, env=environment(**variables), cwd=DEPLOY)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "warn" not in said.lower()
    return said


def test_haproxy_accepts_its_configuration():
    debian.need(haproxy="haproxy")
    ports = {"BIND": ":8080", "REPLICA_1": "127.0.0.1:8081", "REPLICA_2": "127.0.0.1:8082"}
    checked("haproxy", "-c", "-f", balancer.CONFIG, **ports)


def test_nginx_accepts_its_configuration():
    debian.need(nginx="nginx-light")
    said = checked("nginx", "-t", "-c", balancer.FOLDER / "nginx.conf")
    assert "test is successful" in said


def test_nginx_accepts_its_lines_for_mutual_tls(tmp_path: Path):
    debian.need(nginx="nginx-light")
    authority = Authority(tmp_path, "ca")
    authority.issue("server", server=True)
    text = (balancer.FOLDER / "nginx.conf").read_text("utf-8")
    secured = re.sub(r"# ((?:listen 8443|ssl_).*;)", r"\1", text).replace("listen 8080;", "")
    assert secured.count(" ssl_") == 4
    config = tmp_path / "nginx.conf"
    config.write_text(secured.replace("/etc/toolscout", str(tmp_path)), "utf-8")
    assert "test is successful" in checked("nginx", "-t", "-c", config)


def test_systemd_accepts_the_unit_and_the_service_its_settings(tmp_path: Path):
    debian.need(systemd_analyze="systemd")
    text = (DEPLOY / "systemd" / "toolscout.service").read_text("utf-8")
    unit = tmp_path / "toolscout.service"
    unit.write_text(text.replace("/opt/toolscout/bin", f"{sys.prefix}/bin"), "utf-8")
    checked("systemd-analyze", "verify", unit)
    given = dict(re.findall(r"^Environment=(\w+)=(.+)$", text, re.M))
    keys = tmp_path / "api-keys"
    keys.write_text("acme=" + "k" * 48, "utf-8")
    settings = load(environ=given | {"TOOLSCOUT_API_KEYS_FILE": str(keys)})
    (patience,) = re.findall(r"^TimeoutStopSec=(\d+)$", text, re.M)
    assert int(patience) > settings.drain_s + settings.shutdown_s


def test_envoy_accepts_its_configuration():
    config = balancer.FOLDER / "envoy.yaml"
    said = checked(wheels.envoy(), "--mode", "validate", "-c", config)
    assert f"configuration '{config}' OK" in said


def test_compose_accepts_the_composition(tmp_path: Path):
    debian.need(docker_compose="docker-compose", recommended=False)
    shutil.copytree(DEPLOY, tmp_path / "deploy")
    (tmp_path / "deploy" / "api-keys").write_text("acme=" + "k" * 48, "utf-8")
    command = ["docker-compose", "-f", tmp_path / "deploy" / "compose.yaml", "config"]
    checked(*command, "--quiet")
    plain = yaml.safe_load(ran(command).stdout)
    image = f"grafana/grafana:99.0@sha256:{'a' * 64}"
    (tmp_path / "deploy" / ".env").write_text(f"GRAFANA_IMAGE={image}\n", "utf-8")
    pinned = yaml.safe_load(ran(command).stdout)
    assert pinned["services"]["grafana"]["image"] == image
    plain["services"]["grafana"]["image"] = image
    assert pinned == plain


def test_alertmanager_accepts_its_configuration_and_knows_whom_to_page():
    debian.need(amtool="prometheus-alertmanager", recommended=False)
    file = DEPLOY / "prometheus" / "alertmanager.yml"
    assert "2 receivers" in checked("amtool", "check-config", file)
    for severity in ("page", "ticket"):
        routed = ["amtool", "config", "routes", "test", f"--config.file={file}"]
        assert ran([*routed, f"severity={severity}"]).stdout.strip() == severity


def test_prometheus_accepts_configuration_and_rules(tmp_path: Path):
    debian.need(promtool="prometheus")
    for file in (DEPLOY / "prometheus" / "prometheus.yml", RULES):  # as Compose mounts them
        shutil.copy(file, tmp_path)
    assert "41 rules found" in checked("promtool", "check", "config", tmp_path / "prometheus.yml")
    checked("promtool", "check", "rules", "--lint-fatal", RULES)


def test_the_alerts_come_when_they_should_and_not_otherwise():
    debian.need(promtool="prometheus")
    assert "SUCCESS" in checked("promtool", "test", "rules", "prometheus/rules_test.yml")


@pytest.mark.parametrize(
    ("there", "here"),
    [
        (" * 0.001", " * 0.1"),
        ("> 0.15", "> 15"),
        ('le="0.15"', 'le="1"'),
        ("< 14 * 86400", "< 17 * 86400"),
        ("> 2 * (", "> 0 * ("),
    ],
)
def test_the_tests_of_the_alerts_notice_a_changed_rule(tmp_path: Path, there: str, here: str):
    debian.need(promtool="prometheus")
    shutil.copytree(DEPLOY, tmp_path, dirs_exist_ok=True)
    changed = tmp_path / RULES.relative_to(DEPLOY)
    rules = changed.read_text("utf-8")
    assert there in rules
    changed.write_text(rules.replace(there, here), "utf-8")
    tests = tmp_path / "prometheus" / "rules_test.yml"
    command = [shutil.which("promtool"), "test", "rules", tests]
    done = ran(command, status=None)
    assert done.returncode != 0
    assert "FAILED" in done.stdout + done.stderr
