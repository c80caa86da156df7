"""What stands below each page of the site: the version, and where its source is.

`REPOSITORY_URL` is the address of the source. The theme's own link to it would ask that host.
"""

import os

from mkdocs.config.defaults import MkDocsConfig

from toolscout import __version__


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Set the footer; MkDocs calls this before it builds."""
    repository = os.environ.get("REPOSITORY_URL", "")
    source = f' · <a href="{repository}">Source</a>' if repository else ""
    config.copyright = f"Toolscout {__version__}{source}"
    return config
