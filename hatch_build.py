"""What a build does: README.md for an index, where the project is, and the native part if it can.

In an index no relative link leads anywhere. Links become absolute by `REPOSITORY_URL`, the address
of the repository; a build without one, as in a clone, leaves their texts.

The native part of the ranking is compiled by the C compiler that Python names. Without compiler or
headers, or with `TOOLSCOUT_NATIVE=off`, the package is pure Python. `python hatch_build.py`
compiles it in a clone.
"""

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

IMAGE_LINK = re.compile(r"^\[!\[[^]]*\]\([^)]*\)\]\([^)]*\)\n+", re.MULTILINE)
"""A picture that is a link, on a line of its own."""

RELATIVE_LINK = re.compile(r"!?\[([^][]*)\]\((?!\w+:|#)[^)\s]+\)")
RELATIVE_TARGET = re.compile(r"(?<=\]\()(?!\w+:|#)(?=[^)\s]+\))")
RELATIVE_IMAGE = re.compile(r"(!\[[^]]*\]\()(?!\w+:)(?=[^)\s]+\))")
CODE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


NATIVE = Path("service", "toolscout", "ranking", "native")
"""Where the sources of the native part are, and in a clone what is compiled of them."""

COMPILE_TIMEOUT_S = 300

# Sums as Python makes them: no multiplication is merged with an addition, on any processor.
FLAGS = ["-O3", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off"]
LINKS = {"darwin": ["-bundle", "-undefined", "dynamic_lookup"]}


class NativePart(BuildHookInterface[Any]):
    """Compiles the native part into a wheel, or into the clone that is installed as editable."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and give the wheel the tag of its platform; a wheel without it is pure."""
        root = Path(self.root)
        if version == "editable":
            self.app.display_info(compile_native(root, root / NATIVE)[1])
            return
        self._folder = tempfile.TemporaryDirectory()
        library, message = compile_native(root, Path(self._folder.name))
        self.app.display_info(message)
        if library is not None:
            inside = NATIVE.relative_to("service") / library.name
            build_data["force_include"][str(library)] = inside.as_posix()
            build_data["pure_python"] = False
            build_data["infer_tag"] = True


def compile_native(root: Path, folder: Path) -> tuple[Path | None, str]:
    """Compile the native part into a folder; also return a message about it."""
    made = folder / f"_join{sysconfig.get_config_var('EXT_SUFFIX')}"
    made.unlink(missing_ok=True)
    if os.environ.get("TOOLSCOUT_NATIVE", "on").lower() in ("off", "false", "no", "0"):
        return None, "The native part of the ranking is not built: TOOLSCOUT_NATIVE is off."
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    sources = sorted(str(path) for path in (root / NATIVE).glob("*.c"))
    include = sysconfig.get_path("include")
    flags = [*FLAGS, *shlex.split(os.environ.get("CFLAGS", "")), f"-I{include}"]
    link = LINKS.get(sys.platform, ["-shared"])
    command = [*compiler, *flags, *link, *sources, "-o", str(made), "-lm"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_TIMEOUT_S)
        failed = done.returncode != 0
        why = done.stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        failed = True
        why = str(error)
    if failed or not made.exists():
        made.unlink(missing_ok=True)
        lines = why.strip().splitlines()
        reason = next((line for line in lines if "error" in line), "".join(lines[:1]))
        return None, f"The native part of the ranking is not built, so Python ranks: {reason}"
    return made, f"The native part of the ranking is built by {compiler[0]}."


class PackageMetadata(MetadataHookInterface):
    """Sets the fields that pyproject.toml lists as dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the readme and, where there is an address, the URLs."""
        repository = os.environ.get("REPOSITORY_URL", "").rstrip("/")
        text = Path(self.root, "README.md").read_text("utf-8")
        readme = render_for_index(text, repository, f"v{metadata['version']}")
        # A source distribution has both already, and what it says holds.
        metadata.setdefault("readme", {"content-type": "text/markdown", "text": readme})
        if repository:
            metadata.setdefault("urls", describe_urls(repository))


def describe_urls(repository: str) -> dict[str, str]:
    """Return the addresses that an index shows beside a package."""
    return {
        "Repository": repository,
        "Documentation": f"{repository}/blob/HEAD/docs/README.md",
        "Changelog": f"{repository}/blob/HEAD/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }


def render_for_index(text: str, repository: str, tag: str) -> str:
    """Return a page without relative links, but for what stands in blocks of code."""
    parts = CODE.split(text)
    parts[::2] = [render_prose(part, repository, tag) for part in parts[::2]]
    return "".join(parts)


def render_prose(text: str, repository: str, tag: str) -> str:
    """Make links absolute, or leave their texts where there is no address."""
    if not repository:
        return RELATIVE_LINK.sub(r"\1", IMAGE_LINK.sub("", text))
    text = RELATIVE_IMAGE.sub(rf"\g<1>{repository}/raw/{tag}/", text)
    return RELATIVE_TARGET.sub(f"{repository}/blob/{tag}/", text)


if __name__ == "__main__":
    here = Path(__file__).parent
    print(compile_native(here, here / NATIVE)[1])
