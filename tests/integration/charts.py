"""The Helm charts: values to render them with, and what Kubernetes says of the objects."""

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft7Validator
from referencing import Registry
from referencing.jsonschema import DRAFT7

from tests import wheels
from tests.support import ran

CHARTS = Path(__file__).parents[2] / "deploy" / "helm"
CHART = CHARTS / "toolscout"
KEYED: dict[str, Any] = {"apiKeys": {"existingSecret": "keys"}}
FULL: dict[str, Any] = KEYED | {
    "image": {"tag": "1.2.3", "pullPolicy": "Always", "extras": ["server", "redis", "otel"]},
    "serviceAccount": {"create": True, "annotations": {"note": "none"}},
    "extraVolumes": [{"name": "words", "configMap": {"name": "words"}}],
    "extraVolumeMounts": [{"name": "words", "mountPath": "/etc/words", "readOnly": True}],
    "imagePullSecrets": [{"name": "pull"}],
    "settings": {"cache_bytes": 268435456, "rate_limit": 0.5, "learning_days": 30, "drain_s": 20}
    | {"tracing": True, "synonyms": "/etc/words/synonyms.toml"},
    "store": {"existingSecret": "store"},
    "tls": {"existingSecret": "certificate"},
    "autoscaling": {"enabled": True},
    "ingress": {"enabled": True, "host": "tools.example.org", "tlsSecret": "public"},
    "networkPolicy": {
        "from": [{"namespaceSelector": {"matchLabels": {"name": "ingress-nginx"}}}],
        "egress": [{"to": [{"podSelector": {"matchLabels": {"app": "valkey"}}}]}],
    },
    "httpRoute": {
        "enabled": True,
        "parentRefs": [{"name": "public", "namespace": "gateways"}],
        "hostnames": ["tools.example.org"],
        "annotations": {"note": "none"},
    },
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "prometheusRule": {
        "enabled": True,
        "labels": {"release": "prometheus"},
        "runbookBase": "https://docs.example.org/",
    },
    "dashboard": {"enabled": True, "annotations": {"grafana_folder": "Tools"}},
    "podLabels": {"team": "search"},
    "podAnnotations": {"note": "none"},
    "priorityClassName": "high",
    "tolerations": [{"operator": "Exists"}],
    "nodeSelector": {"disk": "fast"},
    "extraEnv": [{"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": "http://collector:4318"}],
    "service": {"annotations": {"note": "none"}},
}
MUTUAL: dict[str, Any] = KEYED | {"tls": {"existingSecret": "certificate", "clientCA": True}}
KEPT: dict[str, Any] = KEYED | {
    "replicas": 1,
    "persistence": {"enabled": True, "size": "5Gi", "storageClass": "fast"},
    "store": {"url": "sqlite:/data/state.db"},
}
SCALED: dict[str, Any] = KEYED | {"autoscaling": {"enabled": True}}
VALUES = {
    "keyed": KEYED,
    "full": FULL,
    "kept": KEPT,
    "mutual": MUTUAL,
    "scaled": SCALED,
    "trial": {"apiKeys": {"value": "acme=" + "k" * 40}},
    "open": {"settings": {"insecure": True}, "networkPolicy": {"enabled": False}},
}


def closed(fields: str, **known: Any) -> dict[str, Any]:
    """Return the schema of an object with these fields and no other, and the schemas of some."""
    properties = dict.fromkeys(fields.split(), True) | known
    return {"type": "object", "additionalProperties": False, "properties": properties}


ENDPOINT = closed("port path interval scheme tlsConfig relabelings authorization")
RULE = closed("record alert expr for labels annotations")
BACKEND = closed("name", port={"type": "integer"})
SPECS = {
    "ServiceMonitor": closed("selector", endpoints={"items": ENDPOINT}),
    "PrometheusRule": closed("", groups={"items": closed("name", rules={"items": RULE})}),
    "HTTPRoute": closed(
        "hostnames",
        parentRefs={"items": closed("name namespace sectionName port")},
        rules={"items": closed("", backendRefs={"items": BACKEND})},
    ),
}
"""As much of the Prometheus operator's and the Gateway API's schemas as the chart uses."""


def helm(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [str(wheels.helm()), *map(str, arguments)]
    return ran(command, status=None)


def attempt(folder: Path, values: dict[str, Any]) -> "subprocess.CompletedProcess[str]":
    file = folder / "values.yaml"
    file.write_text(json.dumps(values), "utf-8")
    return helm("template", "drill", CHART, "--namespace", "tools", "--values", file)


def render(folder: Path, values: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the rendered objects by kind and name."""
    done = attempt(folder, values)
    assert done.returncode == 0, done.stderr
    return objects(done.stdout)


def objects(text: str) -> dict[tuple[str, str], dict[str, Any]]:
    found = [item for item in yaml.safe_load_all(text) if item]
    by_name = {(item["kind"], item["metadata"]["name"]): item for item in found}
    assert len(by_name) == len(found)
    return by_name


@cache
def definitions(release: str) -> Registry[Any]:
    """Return what the schemas of one release refer to."""
    text = (wheels.kubernetes_schemas(release) / "_definitions.json").read_text("utf-8")
    shared = DRAFT7.create_resource(json.loads(text))
    return Registry().with_resource("/api/_definitions.json", shared)


@cache
def schema(kind: str, api: str, release: str) -> Draft7Validator:
    group, _, version = api.rpartition("/")
    parts = [kind.lower(), *([group.partition(".")[0]] if group else []), version]
    file = wheels.kubernetes_schemas(release) / ("-".join(parts) + ".json")
    return Draft7Validator(json.loads(file.read_text("utf-8")), registry=definitions(release))


def wrong(item: dict[str, Any], release: str) -> list[str]:
    """Return what a Kubernetes of some release has against an object."""
    if item["kind"] in SPECS:
        own = Draft7Validator(SPECS[item["kind"]])
        return [error.message for error in own.iter_errors(item["spec"])]
    checker = schema(item["kind"], item["apiVersion"], release)
    return [f"{list(e.absolute_path)}: {e.message}" for e in checker.iter_errors(item)]


def container(items: dict[tuple[str, str], dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = pod(items)["containers"][0]
    return found


def pod(items: dict[tuple[str, str], dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = items["Deployment", "drill-toolscout"]["spec"]["template"]["spec"]
    return found
