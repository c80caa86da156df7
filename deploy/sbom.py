"""Write the bill of materials of the image that this runs in, CycloneDX, to standard output.

Python packages are those that cyclonedx-py finds beside an interpreter; the packages of the base
are those of dpkg. Neither knows the interpreter itself, which the base has built.

    python sbom.py /opt/toolscout/bin/python
"""

import json
import platform
import subprocess
import sys
from typing import Any

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

_TOOL = ("-m", "cyclonedx_py", "environment", "--output-reproducible")
_DPKG = ("dpkg-query", "--show", "--showformat", "${Package} ${Version} ${Architecture}\\n")


def run(*command: str) -> str:
    """Return what a command prints; raises `CalledProcessError` when it fails."""
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def component(name: str, version: str, purl: str, kind: str = "library") -> dict[str, str]:
    """Return an entry of the bill."""
    return {"bom-ref": purl, "type": kind, "name": name, "version": version, "purl": purl}


def debian_packages() -> list[dict[str, str]]:
    """Return what dpkg has installed."""
    release = platform.freedesktop_os_release()
    distribution = f"{release['ID']}-{release['VERSION_ID']}"
    packages = [line.split() for line in run(*_DPKG).splitlines()]
    return [
        component(
            name, version, f"pkg:deb/debian/{name}@{version}?arch={arch}&distro={distribution}"
        )
        for name, version, arch in packages
    ]


def bill_of(python: str) -> dict[str, Any]:
    """Return the bill of materials of the image, with the packages of its interpreter."""
    bill: dict[str, Any] = json.loads(run(sys.executable, *_TOOL, python))
    (service,) = (part for part in bill["components"] if part["name"] == "toolscout")
    of_image = {"bom-ref": "image", "type": "container", "name": "toolscout"}
    bill["metadata"]["component"] = of_image | {"version": service["version"]}
    version = run(python, "-c", "import platform; print(platform.python_version())").strip()
    interpreter = component("cpython", version, f"pkg:generic/cpython@{version}", "platform")
    bill["components"] += [interpreter, *debian_packages()]
    return bill


if __name__ == "__main__":
    made = json.dumps(bill_of(sys.argv[1]), indent=2)
    if wrong := JsonStrictValidator(SchemaVersion.V1_6).validate_str(made):
        sys.exit(f"not CycloneDX: {wrong}")
    print(made)
