"""Structured answers of the MCP facade that have no counterpart over HTTP."""

import msgspec

from toolscout.contract.fields import Outcome
from toolscout.contract.tools import ToolDetail


class ToolsFound(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer of `search_tools`."""

    tools: list[ToolDetail]
    outcome: Outcome
    catalog: str
    """The digest of the catalog."""
    degraded: str | None = None
    """The ranker that ran instead of the configured one, because time was short."""


class RequiredKeys(msgspec.Struct, frozen=True):
    """The answer of `get_required_keys_for_tool`."""

    name: str
    required_keys: list[str]
