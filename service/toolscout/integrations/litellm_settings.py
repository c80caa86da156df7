"""Read the settings of the LiteLLM callback from the environment.

TOOLSCOUT_ENDPOINT     URL of the service, by default http://127.0.0.1:8080
TOOLSCOUT_API_KEY      key for the service
TOOLSCOUT_CONFIG       YAML file with `pipes.tool_discovery`, instead of the two above
TOOLSCOUT_ROLLOUT      off, dark, shadow, percent:N or on; by default as in the file, else on
TOOLSCOUT_DEFER_ABOVE  leave requests with at most this many tools alone, by default 5
TOOLSCOUT_ALWAYS_KEEP  names of tools that every model sees, with commas between them
TOOLSCOUT_TOP_K        most tools that a search brings, by default 5
TOOLSCOUT_LEARN        off: do not report to the service which tools were called after a search
"""

import logging
import os

from toolscout.client import ConfigurationError
from toolscout.client.rollout import Rollout
from toolscout.discovery import AsyncToolDiscovery, DiscoveryConfig, load
from toolscout.discovery.config import ApiConfig

PROXY_LOG = "LiteLLM Proxy"


class ProxyLogHandler(logging.Handler):
    """Passes records to LiteLLM's own logger, with its format, redaction and JSON mode."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        logging.getLogger(PROXY_LOG).handle(record)


def discovery_from_environment() -> AsyncToolDiscovery:
    """Build the flow that the environment describes, and join its log to the proxy's."""
    path = os.environ.get("TOOLSCOUT_CONFIG")
    if path:
        config = load(path)
    else:
        endpoint = os.environ.get("TOOLSCOUT_ENDPOINT", "http://127.0.0.1:8080")
        api = ApiConfig(endpoint, os.environ.get("TOOLSCOUT_API_KEY", ""))
        config = DiscoveryConfig(enabled=True, strategy="hybrid-first", api=api)
    rollout = Rollout.parse(os.environ.get("TOOLSCOUT_ROLLOUT") or config.rollout)
    _log_through_proxy(rollout)
    defer_above = _count("TOOLSCOUT_DEFER_ABOVE", os.environ.get("TOOLSCOUT_DEFER_ABOVE", "5"))
    top_k = os.environ.get("TOOLSCOUT_TOP_K")
    names = os.environ.get("TOOLSCOUT_ALWAYS_KEEP", "").split(",")
    # The name of a model in this proxy says nothing about whose model it is.
    learn = os.environ.get("TOOLSCOUT_LEARN", "on").strip().lower() != "off"
    return AsyncToolDiscovery(
        config,
        always_keep=[name.strip() for name in names if name.strip()],
        top_k=_count("TOOLSCOUT_TOP_K", top_k) if top_k else None,
        rollout=rollout,
        defer_above=defer_above,
        native=False,
        learn=learn,
    )


def _count(name: str, text: str) -> int:
    if not text.strip().isdecimal():
        raise ConfigurationError(f"{name}: expected a whole number, got {text!r}")
    return int(text)


def _log_through_proxy(rollout: Rollout) -> None:
    """Pass warnings to the proxy's log, and every search in dark and shadow rollout.

    The log is the only product of a dark rollout; in any other a line per search would be noise.
    """
    logger = logging.getLogger("toolscout")
    logger.setLevel(logging.INFO if rollout.mode in ("dark", "shadow") else logging.WARNING)
    logger.handlers = [ProxyLogHandler()]
    logger.propagate = False
