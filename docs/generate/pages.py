"""Which pages are generated, and by what."""

from collections.abc import Callable

from docs.generate import api, commands, configuration, house, metrics, turns

PAGES: dict[str, Callable[[], str]] = {
    "api.md": api.page,
    "architecture.md": house.page,
    "bounds.md": api.bounds,
    "cli.md": commands.page,
    "configuration.md": configuration.page,
    "metrics.md": metrics.page,
    "../deploy/toolscout.toml": configuration.example,
    "../service/toolscout/turns/README.md": turns.page,
}
"""By file name in docs/."""
