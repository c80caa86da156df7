"""The Helm chart, rendered by Helm itself and held against the schemas of Kubernetes."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import debian
from tests.integration.charts import (
    CHART,
    CHARTS,
    FULL,
    KEPT,
    KEYED,
    MUTUAL,
    SCALED,
    VALUES,
    attempt,
    container,
    helm,
    objects,
    pod,
    render,
    wrong,
)
from tests.support import ran
from toolscout.server.observe.metrics import Metrics
from toolscout.settings_sources import load

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("release", ["1.27.0", "1.31.0", "1.36.0"])
@pytest.mark.parametrize("name", VALUES)
def test_kubernetes_takes_every_object(tmp_path: Path, name: str, release: str):
    items = render(tmp_path, VALUES[name])
    assert ("Deployment", "drill-toolscout") in items
    assert [fault for item in items.values() for fault in wrong(item, release)] == []


def test_helm_finds_nothing_to_object_to():
    done = helm("lint", "--strict", CHART, "--set", "apiKeys.existingSecret=keys")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr


def test_the_pod_may_do_nothing_and_is_spread(tmp_path: Path):
    items = render(tmp_path, KEYED)
    secured = container(items)["securityContext"]
    assert secured["runAsUser"] == 65532
    assert secured["runAsNonRoot"] is True
    assert secured["readOnlyRootFilesystem"] is True
    assert secured["allowPrivilegeEscalation"] is False
    assert secured["capabilities"] == {"drop": ["ALL"]}
    spec = pod(items)
    assert spec["automountServiceAccountToken"] is False
    assert {one["topologyKey"] for one in spec["topologySpreadConstraints"]} == {
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
    }
    assert items["PodDisruptionBudget", "drill-toolscout"]["spec"]["maxUnavailable"] == 1


def test_the_environment_is_what_the_service_reads(tmp_path: Path):
    spec = container(render(tmp_path, FULL))
    given = {pair["name"]: pair["value"] for pair in spec["env"]}
    mounts = {mount["mountPath"] for mount in spec["volumeMounts"]}
    files = {value for value in given.values() if value.startswith("/etc/toolscout/")}
    assert {file.rpartition("/")[0] for file in files} == mounts - {"/tmp", "/etc/words"}
    read = {n: v for n, v in given.items() if n.startswith("TOOLSCOUT_") and v not in files}
    settings = load(environ=read)
    assert settings.host == "0.0.0.0"
    assert (settings.cache_bytes, settings.rate_limit) == (268435456, 0.5)
    assert settings.learning_days == 30
    assert given["TOOLSCOUT_STORE_FILE"] in files
    assert given["OTEL_EXPORTER_OTLP_ENDPOINT"]


def test_secrets_are_directories_so_that_they_follow_a_rotation(tmp_path: Path):
    spec = pod(render(tmp_path, FULL))
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    for mount in spec["containers"][0]["volumeMounts"]:
        assert "subPath" not in mount
        assert mount["name"] in volumes
    assert volumes["toolscout-keys"]["secret"]["secretName"] == "keys"
    assert not any("secretKeyRef" in json.dumps(pair) for pair in spec["containers"][0]["env"])


def test_a_pod_has_the_time_to_drain(tmp_path: Path):
    assert pod(render(tmp_path, FULL))["terminationGracePeriodSeconds"] == 20 + 10 + 5


def test_probes_speak_what_the_service_speaks(tmp_path: Path):
    plain = container(render(tmp_path, KEYED))["readinessProbe"]["httpGet"]
    assert (plain["path"], plain["scheme"]) == ("/readyz", "HTTP")
    assert container(render(tmp_path, FULL))["livenessProbe"]["httpGet"]["scheme"] == "HTTPS"
    assert container(render(tmp_path, MUTUAL))["readinessProbe"]["tcpSocket"] == {"port": "http"}


def test_scaling_goes_by_cpu_and_by_a_metric_that_the_service_exposes(tmp_path: Path):
    items = render(tmp_path, FULL)
    scaling = items["HorizontalPodAutoscaler", "drill-toolscout"]["spec"]
    cpu, wait = scaling["metrics"]
    assert cpu["resource"]["name"] == "cpu"
    (exposed,) = Metrics().lag.collect()
    assert wait["pods"]["metric"]["name"] == exposed.name
    assert "replicas" not in items["Deployment", "drill-toolscout"]["spec"]
    target = scaling["scaleTargetRef"]
    assert (target["kind"], target["name"]) in items


def test_only_those_who_are_named_reach_a_pod(tmp_path: Path):
    closed = render(tmp_path, KEYED)["NetworkPolicy", "drill-toolscout"]["spec"]
    assert closed["egress"] == []
    assert closed["policyTypes"] == ["Ingress", "Egress"]
    assert closed["ingress"][0]["from"] == [{"podSelector": {}}]
    opened = render(tmp_path, FULL)["NetworkPolicy", "drill-toolscout"]["spec"]
    assert len(opened["egress"]) == 2


NGINX = "nginx.ingress.kubernetes.io"


def test_a_digest_alone_is_hashed_where_a_request_has_one(tmp_path: Path):
    """Else a new key would move every catalog of a tenant to a pod that has not compiled it."""
    ingress = {"enabled": True, "host": "a.org", "annotations": {f"{NGINX}/proxy-body-size": "1m"}}
    items = render(tmp_path, FULL | {"ingress": ingress, "service": {"headless": False}})
    first, second = (items["Ingress", f"drill-toolscout{name}"] for name in ("", "-digest"))
    notes = first["metadata"]["annotations"]
    assert notes[f"{NGINX}/upstream-hash-by"] == "$http_x_api_key$http_authorization"
    assert notes[f"{NGINX}/proxy-body-size"] == "1m"
    assert second["metadata"]["annotations"] == {
        f"{NGINX}/canary": "true",
        f"{NGINX}/canary-by-header": "X-Catalog-Digest",
        f"{NGINX}/canary-by-header-pattern": ".",
        f"{NGINX}/upstream-hash-by": "$http_x_catalog_digest",
    }
    reached = set()
    for item in (first, second):
        (rule,) = item["spec"]["rules"]
        assert rule["host"] == "a.org"
        reached.add(rule["http"]["paths"][0]["backend"]["service"]["name"])
    # ingress-nginx hashes by one text for each Service.
    assert reached == {"drill-toolscout", "drill-toolscout-headless"}
    assert all(("Service", name) in items for name in reached)


def test_without_keys_the_address_is_hashed(tmp_path: Path):
    values = VALUES["open"] | {"ingress": {"enabled": True, "host": "a.org"}}
    notes = render(tmp_path, values)["Ingress", "drill-toolscout"]["metadata"]["annotations"]
    assert notes[f"{NGINX}/upstream-hash-by"] == "$remote_addr"


def test_a_route_leads_from_the_gateway_to_the_service(tmp_path: Path):
    items = render(tmp_path, FULL)
    spec = items["HTTPRoute", "drill-toolscout"]["spec"]
    assert spec["parentRefs"] == FULL["httpRoute"]["parentRefs"]
    assert spec["hostnames"] == ["tools.example.org"]
    (backend,) = spec["rules"][0]["backendRefs"]
    (port,) = items["Service", backend["name"]]["spec"]["ports"]
    assert backend["port"] == port["port"]


def test_a_sqlite_store_is_on_a_volume_of_the_only_pod(tmp_path: Path):
    items = render(tmp_path, KEPT)
    spec = items["Deployment", "drill-toolscout"]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    claim = items["PersistentVolumeClaim", "drill-toolscout-data"]
    assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert claim["spec"]["resources"] == {"requests": {"storage": "5Gi"}}
    volumes = {volume["name"]: volume for volume in pod(items)["volumes"]}
    claimed = volumes["toolscout-data"]["persistentVolumeClaim"]["claimName"]
    assert claimed == "drill-toolscout-data"
    assert {"name": "toolscout-data", "mountPath": "/data"} in container(items)["volumeMounts"]
    theirs = render(tmp_path, KEPT | {"persistence": {"enabled": True, "existingClaim": "mine"}})
    assert ("PersistentVolumeClaim", "drill-toolscout-data") not in theirs
    assert pod(theirs)["volumes"][-1]["persistentVolumeClaim"]["claimName"] == "mine"


def test_alerts_and_dashboard_are_those_of_the_files(tmp_path: Path):
    items = render(tmp_path, FULL)
    rules = items["PrometheusRule", "drill-toolscout"]
    assert rules["metadata"]["labels"]["release"] == "prometheus"
    held = (CHART / "files" / "rules.yml").read_text("utf-8")
    published = held.replace(
        "docs/troubleshooting", "https://docs.example.org/docs/troubleshooting"
    )
    assert rules["spec"] == yaml.safe_load(published)
    debian.need(promtool="prometheus")
    alerts = tmp_path / "rules.yml"
    alerts.write_text(yaml.safe_dump(rules["spec"]), "utf-8")
    assert "41 rules found" in ran(["promtool", "check", "rules", str(alerts)]).stdout
    plain = render(tmp_path, KEYED | {"prometheusRule": {"enabled": True}})
    assert plain["PrometheusRule", "drill-toolscout"]["spec"] == yaml.safe_load(held)
    dashboard = items["ConfigMap", "drill-toolscout-dashboard"]
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
    shown = json.loads(dashboard["data"]["toolscout.json"])
    assert shown == json.loads((CHART / "files" / "dashboard.json").read_text("utf-8"))


def test_the_alerts_look_for_the_job_that_the_monitor_names(tmp_path: Path):
    (endpoint,) = render(tmp_path, FULL)["ServiceMonitor", "drill-toolscout"]["spec"]["endpoints"]
    (relabel,) = endpoint["relabelings"]
    rules = (CHART / "files" / "rules.yml").read_text("utf-8")
    assert f'absent(up{{{relabel["targetLabel"]}="{relabel["replacement"]}"}})' in rules


def test_the_ingress_speaks_to_a_pod_as_the_pod_does(tmp_path: Path):
    def spoken(values: dict[str, Any]) -> str | None:
        made = render(tmp_path, values)["Ingress", "drill-toolscout"]["metadata"]["annotations"]
        return made.get(f"{NGINX}/backend-protocol")

    assert spoken(FULL) == "HTTPS"
    assert spoken(FULL | {"tls": {}}) is None


def test_everything_selects_the_same_pods(tmp_path: Path):
    items = render(tmp_path, FULL)
    labels = items["Deployment", "drill-toolscout"]["spec"]["template"]["metadata"]["labels"]
    for (kind, _), item in items.items():
        spec = item.get("spec", {})
        selector = spec.get("selector") or spec.get("podSelector")
        if kind in ("Service", "PodDisruptionBudget", "NetworkPolicy", "Deployment"):
            wanted = selector.get("matchLabels", selector)
            assert wanted.items() <= labels.items()
    monitor = items["ServiceMonitor", "drill-toolscout"]["spec"]
    service = items["Service", "drill-toolscout"]
    headless = items["Service", "drill-toolscout-headless"]
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    absent = monitor["selector"]["matchExpressions"][0]["key"]
    assert absent in headless["metadata"]["labels"]
    assert absent not in service["metadata"]["labels"]
    assert headless["spec"]["clusterIP"] == "None"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "without a key anybody"),
        (KEYED | {"tls": {"clientCA": True}}, "tls.clientCA needs tls.existingSecret"),
        (KEYED | {"store": {"url": "redis://valkey:6379/0"}}, "networkPolicy.egress is empty"),
        (KEYED | {"ingress": {"enabled": True}}, "ingress.host is needed"),
        (KEYED | {"ingress": {"enabled": True, "host": "a.org"}}, "networkPolicy.from is empty"),
        (MUTUAL | {"serviceMonitor": {"enabled": True}}, "serviceMonitor.tlsConfig"),
        (KEYED | {"settings": {"max_tool": 5}}, "max_tool"),
        (KEYED | {"settings": {"ranker": "best"}}, "ranker"),
        (KEYED | {"replica": 3}, "replica"),
        (KEYED | {"mode": "daemon"}, "mode"),
        (KEYED | {"settings": {"mcp": True}}, "settings.mcp needs an image with the extra mcp"),
        (KEYED | {"settings": {"encoder": True}}, "needs an image with the extra encoder"),
        (
            KEYED | {"settings": {"tracing": "on"}, "image": {"extras": ["server"]}},
            "needs an image with the extra otel",
        ),
        (KEYED | {"settings": {"synonyms": "/etc/x.toml"}}, "nothing is mounted at /etc/x.toml"),
        (KEYED | {"image": {"digest": "latest"}}, "digest"),
        (KEYED | {"store": {"url": "mysql://x"}}, "store"),
        (KEYED | {"store": {"url": "sqlite:/data/state.db"}}, "file system is read-only"),
        (KEPT | {"store": {"url": "sqlite:/other/state.db"}}, "nothing would be kept there"),
        (KEPT | {"store": {"url": "memory"}}, "nothing would be kept there"),
        (KEPT | {"replicas": 2}, "a SQLite file serves one pod"),
        (KEPT | {"autoscaling": {"enabled": True}}, "a SQLite file serves one pod"),
        (KEPT | {"mode": "sidecar"}, "a sidecar's volumes"),
        (
            KEYED | {"store": {"url": "postgres://db/x"}, "image": {"extras": ["server"]}},
            "needs an image with the extra postgres",
        ),
        (KEYED | {"settings": {"cache_bytes": 4_000_000_000}}, "9707 MiB"),
        (KEYED | {"resources": {"limits": {"memory": "800Mi"}}}, "800Mi is less than the 810"),
        (KEYED | {"resources": {"limits": {"memory": 800_000_000}}}, "less than the 810 MiB"),
        (SCALED | {"resources": {"requests": {"cpu": None}}}, "resources.requests.cpu"),
        (SCALED | {"autoscaling": {"enabled": True, "minReplicas": 11}}, "minReplicas is more"),
        (KEYED | {"httpRoute": {"enabled": True}}, "httpRoute.parentRefs is empty"),
        (KEYED | {"httpRoute": FULL["httpRoute"]}, "so the Gateway could not call"),
        (KEYED | {"service": {"type": "NodePort"}}, "a caller by NodePort could not call"),
        (MUTUAL | {"ingress": {"enabled": True, "host": "a.org"}}, "proxy-ssl-secret"),
        (
            KEYED | {"serviceMonitor": {"enabled": True}, "networkPolicy": {"monitoring": []}},
            "so Prometheus could not scrape",
        ),
        (KEYED | {"prometheusRule": {"runbookBase": "https://a.org"}}, "runbookBase"),
    ],
)
def test_what_cannot_work_is_said(tmp_path: Path, values: dict[str, Any], said: str):
    done = attempt(tmp_path, values)
    assert done.returncode != 0
    assert said in done.stderr


def test_a_digest_pins_the_image_whatever_the_tag(tmp_path: Path):
    digest = f"sha256:{'a' * 64}"
    values = KEYED | {"image": {"repository": "mine/toolscout", "tag": "9", "digest": digest}}
    items = render(tmp_path, values)
    tested = items["Pod", "drill-toolscout-test"]["spec"]["containers"][0]
    assert container(items)["image"] == tested["image"] == f"mine/toolscout@{digest}"


def test_the_service_runs_as_its_own_account_without_a_token(tmp_path: Path):
    items = render(tmp_path, FULL)
    assert items["ServiceAccount", "drill-toolscout"]["metadata"]["annotations"] == {"note": "none"}
    assert pod(items)["serviceAccountName"] == "drill-toolscout"
    assert pod(items)["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in pod(render(tmp_path, KEYED))


def test_files_of_ones_own_are_mounted(tmp_path: Path):
    items = render(tmp_path, FULL)
    assert FULL["extraVolumes"][0] in pod(items)["volumes"]
    assert FULL["extraVolumeMounts"][0] in container(items)["volumeMounts"]


def test_helm_test_calls_by_the_address_and_with_the_keys_of_the_service(tmp_path: Path):
    tested = render(tmp_path, KEYED)["Pod", "drill-toolscout-test"]
    assert tested["metadata"]["annotations"]["helm.sh/hook"] == "test"
    service = render(tmp_path, KEYED)["Service", "drill-toolscout"]["spec"]["selector"]
    assert not service.items() <= tested["metadata"]["labels"].items()
    (ask,) = tested["spec"]["containers"]
    assert ask["command"] == ["python", "-c", (CHART / "files" / "ask.py").read_text("utf-8")]
    assert ask["env"][0]["value"] == "http://drill-toolscout:8080"
    assert ask["volumeMounts"][0]["mountPath"] == "/etc/toolscout/keys"
    assert tested["spec"]["volumes"][0]["secret"]["secretName"] == "keys"
    assert ("Pod", "drill-toolscout-test") not in render(tmp_path, MUTUAL)


def test_as_a_sidecar_it_stands_in_the_pod_of_another_chart(tmp_path: Path):
    for chart in ("toolscout", "sidecar-example"):
        shutil.copytree(CHARTS / chart, tmp_path / chart)
    example = tmp_path / "sidecar-example"
    built = helm("dependency", "build", example)
    assert built.returncode == 0, built.stderr
    done = helm("template", "drill", example)
    assert done.returncode == 0, done.stderr
    items = objects(done.stdout)
    assert list(items) == [("Deployment", "drill-proxy")]
    assert [fault for item in items.values() for fault in wrong(item, "1.31.0")] == []
    spec = items["Deployment", "drill-proxy"]["spec"]["template"]["spec"]
    assert spec["enableServiceLinks"] is False
    proxy, sidecar = spec["containers"]
    given = {pair["name"]: pair["value"] for pair in sidecar["env"]}
    settings = load(environ=given)
    assert settings.host == "127.0.0.1"
    assert f"http://127.0.0.1:{settings.port}/" in proxy["env"][0]["value"]
    assert sidecar["readinessProbe"]["exec"]["command"][0] == "python"
    assert {mount["name"] for mount in sidecar["volumeMounts"]} <= {
        v["name"] for v in spec["volumes"]
    }
