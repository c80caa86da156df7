"""The container image: built from the Dockerfile, run as its user on a root it cannot write.

No registry is needed: the base is a Debian made by debootstrap under the name of the real one,
and buildah executes every instruction in a chroot.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest

from evals import programs
from tests import debian
from tests.confined import USER, Confined
from tests.support import TOOLS, answers, free_port, ran

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
BASE_MIB = 130
"""What the real base weighs unpacked; the stand-in is larger and is not what counts."""
LIMIT_MIB = 400

_BUILDAH = ("buildah", "--storage-driver", "vfs")


BUILD = ("bud", "--quiet", "--pull-never", "--isolation", "chroot", "--format", "docker")
"""A build by the base that this machine made."""


def buildah(folder: Path, *arguments: object) -> str:
    """Run buildah with a storage of its own; returns what it printed."""
    storage = ["--root", folder / "storage", "--runroot", folder / "run"]
    command = [str(part) for part in (*_BUILDAH, *storage, *arguments)]
    done = ran(command, cwd=ROOT)
    return done.stdout.strip()


def pip_configuration(folder: Path) -> list[str]:
    """Hand this machine's index and certificate on to pip in the build, as a secret."""
    asked = [sys.executable, "-m", "pip", "config", "list"]
    listed = ran(asked).stdout
    found = dict(re.findall(r"^[\w:.]*\.([\w-]+)='(.*)'$", listed, re.M))
    lines = ["[global]"]
    flags: list[str] = []
    if "index-url" in found:
        lines.append(f"index-url = {found['index-url']}")
    if "cert" in found:
        inside = "/etc/ssl/certs/ca-certificates.crt"
        lines.append(f"cert = {inside}")
        flags += ["--volume", f"{found['cert']}:{inside}:ro"]
    secret = folder / "pip.conf"
    secret.write_text("\n".join(lines) + "\n", "utf-8")
    return ["--secret", f"id=pip,src={secret}", *flags]


def test_the_dockerfile_passes_its_linter():
    linter = Path(sys.executable).with_name("hadolint")
    ran([linter, ROOT / "Dockerfile"])


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Gigabytes, which must not wait for a later run to be removed."""
    with tempfile.TemporaryDirectory(prefix="toolscout-image-") as name:
        yield Path(name)


@pytest.fixture(scope="module")
def image(folder: Path) -> str:
    """Return the image, built over a base that this machine made."""
    if os.geteuid() != 0:
        pytest.skip("debootstrap and chroot need root")
    debian.need(buildah="buildah", debootstrap="debootstrap")
    base = re.search(r"^ARG BASE=(\S+)", (ROOT / "Dockerfile").read_text("utf-8"), re.M)
    assert base is not None
    parts = "--include=python3,python3-venv,python3-pip,ca-certificates"
    command = ["debootstrap", "--variant=minbase", parts, "bookworm", str(folder / "base")]
    ran(command)
    scratch = buildah(folder, "from", "scratch")
    buildah(folder, "copy", "--quiet", scratch, folder / "base", "/")
    name = f"docker.io/library/{base.group(1).split('@')[0]}"
    buildah(folder, "commit", "--quiet", "--rm", scratch, name)
    buildah(folder, *BUILD, *pip_configuration(folder), "--tag", "toolscout", ".")
    return name


@pytest.fixture(scope="module")
def container(image: str, folder: Path) -> Iterator[str]:
    """Yield a container of the image."""
    working = buildah(folder, "from", "--pull-never", "toolscout")
    yield working
    buildah(folder, "umount", working)
    buildah(folder, "rm", working)


@pytest.fixture(scope="module")
def root(container: str, folder: Path) -> Path:
    """Its file system, as it lies on this machine."""
    return Path(buildah(folder, "mount", container))


@pytest.fixture(scope="module")
def config(image: str, folder: Path) -> dict[str, Any]:
    """Return what the image says about itself."""
    described = json.loads(buildah(folder, "inspect", "--type", "image", "toolscout"))
    settings: dict[str, Any] = described["Docker"]["config"]
    return settings


def test_the_image_runs_as_nobody_in_particular(config: dict[str, Any]):
    assert config["User"] == f"{USER}:{USER}"
    assert config["Entrypoint"] == ["toolscout"]
    assert config["Cmd"] == ["serve"]
    labels = config["Labels"]
    assert labels["org.opencontainers.image.title"] == "toolscout"
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"


def test_the_image_is_small(root: Path, folder: Path):
    whole, base, ours = (mib(path) for path in (root, folder / "base", root / "opt" / "toolscout"))
    print(f"image {whole} MiB, of which stand-in base {base} MiB, ours {ours} MiB")
    assert BASE_MIB + ours < LIMIT_MIB


def test_the_image_carries_the_model_but_neither_pip_nor_its_index(root: Path):
    packages = next((root / "opt" / "toolscout").glob("lib/python*/site-packages"))
    assert (packages / "toolscout" / "model" / "model.safetensors").is_file()
    installed = {found.name.lower() for found in distributions(path=[str(packages)])}
    assert not installed & {"pip", "setuptools", "faker", "hf-xet", "polyfactory", "rich"}
    assert not (root / "src").exists()
    secret = root / "etc" / "pip.conf"
    assert not secret.exists() or secret.read_bytes() == b""


def test_the_image_serves_without_network_on_a_root_it_cannot_write(
    root: Path, config: dict[str, Any], tmp_path: Path
):
    debian.need(ip="iproute2", unshare="util-linux")
    inside = Confined(root, config, "k" * 32, tmp_path / "log")
    try:
        inside.wait_until_healthy()
        question = {"pattern": "what is the weather", "top_k": 1, "tools": TOOLS}
        assert inside.search(question) == {"selected_names": ["get_weather"]}
        assert inside.execute("id", "-u").stdout.strip() == USER
        assert "Read-only" in inside.execute("touch", "/opt/toolscout/new").stderr
    finally:
        status = inside.stop()
    assert status == 0
    assert not inside.healthy()


@pytest.mark.nightly
def test_its_bill_of_materials_names_every_package(image: str, root: Path, folder: Path):
    buildah(folder, *BUILD, *pip_configuration(folder), "--target", "sbom", "--tag", "bill", ".")
    holder = buildah(folder, "from", "--pull-never", "bill")
    lies = Path(buildah(folder, "mount", holder)) / "sbom.cdx.json"
    bill = json.loads(lies.read_text("utf-8"))
    assert bill["metadata"]["component"]["type"] == "container"
    packages = next((root / "opt" / "toolscout").glob("lib/python*/site-packages"))
    of_python = {(found.name, found.version) for found in distributions(path=[str(packages)])}
    command = ["dpkg-query", f"--root={root}", "--show", "--showformat", "${Package} ${Version}\n"]
    shown = ran(command).stdout
    of_debian = {tuple(line.split()) for line in shown.splitlines()}
    named = {(part["name"], part["version"]) for part in bill["components"]}
    print(f"{len(of_python)} packages of Python and {len(of_debian)} of Debian")
    (interpreter,) = (part for part in named if part[0] == "cpython")
    assert interpreter[1].startswith("3.11.")
    assert named == of_python | of_debian | {interpreter}


@pytest.mark.nightly
def test_a_base_is_pinned_by_the_digest_that_a_registry_has(image: str, folder: Path):
    debian.need(skopeo="skopeo", docker_registry="docker-registry")
    with registry(folder / "registry") as host:
        name = f"{host}/python:3.11-slim-bookworm"
        buildah(folder, "push", "--quiet", "--tls-verify=false", image, f"docker://{name}")
        shutil.copy(ROOT / "Makefile", folder)
        text = (ROOT / "Dockerfile").read_text("utf-8")
        plain = re.sub(r"^ARG BASE=.*$", f"ARG BASE={name}", text, flags=re.M)
        for _ in range(2):  # a digest that is there already is replaced
            (folder / "Dockerfile").write_text(plain, "utf-8")
            command = ["make", "pin-base", "SKOPEO_FLAGS=--tls-verify=false"]
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
            pinned = (folder / "Dockerfile").read_text("utf-8")
            (base,) = re.findall(r"^ARG BASE=(\S+)$", pinned, re.M)
            plain = pinned
        assert re.fullmatch(rf"{re.escape(name)}@sha256:[0-9a-f]{{64}}", base)
        assert pinned.replace(base, name).splitlines()[3:] == text.splitlines()[3:]
        buildah(folder, "from", "--pull", "--quiet", "--tls-verify=false", base)


@contextmanager
def registry(folder: Path) -> Iterator[str]:
    """Yield a registry of its own; its host and port."""
    folder.mkdir()
    port = free_port()
    settings = {
        "version": 0.1,
        "storage": {"filesystem": {"rootdirectory": str(folder)}},
        "http": {"addr": f"127.0.0.1:{port}"},
    }
    file = folder / "config.yml"
    file.write_text(json.dumps(settings), "utf-8")
    with programs.running(["docker-registry", "serve", file], lambda: answers(port)):
        yield f"localhost:{port}"


def mib(folder: Path) -> int:
    """Return what lies in a folder, in MiB, counted once."""
    done = ran(["du", "-sxm", "--apparent-size", folder])
    return int(done.stdout.split()[0])
