"""The documentation site, built as `make site` does."""

import os
import subprocess
import sys
from pathlib import Path

from docs.generate import site


def build(folder: Path) -> Path:
    """Build the site into a folder, and fail at any warning."""
    site.gather()
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)],
        cwd=site.ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        check=True,
    )
    return folder
