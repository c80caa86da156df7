"""Read the settings of the LiteLLM callback from the environment.

TOOLSCOUT_ENDPOINT            URL of the service, by default http://127.0.0.1:8080
TOOLSCOUT_API_KEY             key for the service
TOOLSCOUT_CONFIG              YAML file with `pipes.tool_discovery`, instead of the two above
TOOLSCOUT_ROLLOUT             off, dark, shadow, percent:N or on; by default on
TOOLSCOUT_DEFER_ABOVE         leave requests with at most this many tools alone, by default 5
TOOLSCOUT_DEFER_ABOVE_TOKENS  the same by the tokens of their definitions
TOOLSCOUT_ALWAYS_KEEP         names of tools that every model sees, with commas between them
TOOLSCOUT_TOP_K               most tools that a search brings, by default 5
TOOLSCOUT_DISPATCH            auto, on or off: call found tools through one constant tool
TOOLSCOUT_ASK_EVERY_TURN      off: ask for tools at a conversation's first message alone
TOOLSCOUT_LEARN               off: do not report which tools were called after a search

They go before the values of the file.
"""

import logging
import os
from typing import cast

from toolscout.client import ConfigurationError
from toolscout.client.rollout import Rollout
from toolscout.turns.config import ApiConfig, DiscoveryConfig, Dispatching, load
from toolscout.turns.drivers.tool_discovery import AsyncToolDiscovery

PROXY_LOG = "LiteLLM Proxy"

FEW_TOOLS = 5


class ProxyLogHandler(logging.Handler):
    """Passes records to LiteLLM's own logger, with its format, redaction and JSON mode."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        logging.getLogger(PROXY_LOG).handle(record)


def build_from_environment() -> AsyncToolDiscovery:
    """Build the flow that the environment describes, and join its log to the proxy's."""
    get = os.environ.get
    if path := get("TOOLSCOUT_CONFIG"):
        config = load(path)
    else:
        endpoint = get("TOOLSCOUT_ENDPOINT", "http://127.0.0.1:8080")
        api = ApiConfig(endpoint, get("TOOLSCOUT_API_KEY", ""))
        config = DiscoveryConfig(enabled=True, strategy="hybrid-first", api=api)
    rollout = Rollout.parse(get("TOOLSCOUT_ROLLOUT") or config.rollout)
    _log_through_proxy(rollout)
    names = map(str.strip, get("TOOLSCOUT_ALWAYS_KEEP", "").split(","))
    return AsyncToolDiscovery(
        config,
        always_keep=list(filter(None, names)),
        top_k=_count("TOOLSCOUT_TOP_K", config.max_search_results),
        rollout=rollout,
        defer_above=_count(
            "TOOLSCOUT_DEFER_ABOVE", FEW_TOOLS if config.defer_above is None else config.defer_above
        ),
        defer_above_tokens=_count("TOOLSCOUT_DEFER_ABOVE_TOKENS", config.defer_above_tokens or 0),
        dispatch=cast("Dispatching | None", get("TOOLSCOUT_DISPATCH") or None),
        ask_every_turn=config.ask_every_turn and _is_on("TOOLSCOUT_ASK_EVERY_TURN"),
        learn=_is_on("TOOLSCOUT_LEARN"),
    )


def _is_on(name: str) -> bool:
    return os.environ.get(name, "on").strip().lower() not in ("off", "false")


def _count(name: str, default: int) -> int:
    text = os.environ.get(name) or str(default)
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
