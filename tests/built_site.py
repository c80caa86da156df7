"""The documentation site, built as `make site` does."""

import os
import sys
from pathlib import Path

from docs.generate import site
from tests.support import ran


def build(folder: Path) -> Path:
    """Build the site into a folder, and fail at any warning."""
    site.gather()
    # With `--quiet` MkDocs would not count the warnings at which `--strict` fails.
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    ran(build, cwd=site.ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"})
    return folder
