"""Metadata of the package that a build writes: README.md for an index, and where the project is.

In an index no relative link leads anywhere. Links become absolute by `REPOSITORY_URL`, the address
of the repository; a build without one, as in a clone, leaves their texts.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

IMAGE_LINK = re.compile(r"^\[!\[[^]]*\]\([^)]*\)\]\([^)]*\)\n+", re.MULTILINE)
"""A picture that is a link, on a line of its own."""

RELATIVE_LINK = re.compile(r"!?\[([^][]*)\]\((?!\w+:|#)[^)\s]+\)")
RELATIVE_TARGET = re.compile(r"(?<=\]\()(?!\w+:|#)(?=[^)\s]+\))")
RELATIVE_IMAGE = re.compile(r"(!\[[^]]*\]\()(?!\w+:)(?=[^)\s]+\))")
CODE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


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
