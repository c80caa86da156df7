"""What a proxy imports: ask which tools to show, and fall open when there is no answer.

from toolscout.client import Selector

with Selector("http://127.0.0.1:8080") as selector:
    if tools := selector.select(query, request.pop("tools", None) or []).tools:
        request["tools"] = tools
"""

from toolscout.client.config import DiscoveryConfig, load
from toolscout.client.core.breaker import BreakerPolicy
from toolscout.client.discovery import AsyncToolDiscovery, ToolDiscovery
from toolscout.client.errors import (
    ConfigurationError,
    InvalidArgument,
    InvalidTool,
    ToolscoutError,
)
from toolscout.client.jsonl import JsonLines
from toolscout.client.meta import (
    handle_meta_call,
    handle_meta_call_async,
    instructions,
    meta_tools,
)
from toolscout.client.risk import RiskGate
from toolscout.client.rollout import Rollout
from toolscout.client.selection import Reason, Selection, Shadow
from toolscout.client.selector import AsyncSelector, Selector
from toolscout.client.session import SessionStore
from toolscout.client.telemetry import SearchEvent, log_event
from toolscout.client.tracker import SessionTracker
from toolscout.client.turn_events import TurnEvent, log_turn

__all__ = [
    "AsyncSelector",
    "AsyncToolDiscovery",
    "BreakerPolicy",
    "ConfigurationError",
    "DiscoveryConfig",
    "InvalidArgument",
    "InvalidTool",
    "JsonLines",
    "Reason",
    "RiskGate",
    "Rollout",
    "SearchEvent",
    "Selection",
    "Selector",
    "SessionStore",
    "SessionTracker",
    "Shadow",
    "ToolDiscovery",
    "ToolscoutError",
    "TurnEvent",
    "handle_meta_call",
    "handle_meta_call_async",
    "instructions",
    "load",
    "log_event",
    "log_turn",
    "meta_tools",
]
