"""What a proxy imports: ask which tools to show, and fall open when there is no answer.

from toolscout.client import Selector

with Selector("http://127.0.0.1:8080") as selector:
    if tools := selector.select(query, request.pop("tools", None) or []).tools:
        request["tools"] = tools
"""

from toolscout.client.agents.meta import (
    handle_meta_call,
    handle_meta_call_async,
    instructions,
    meta_tools,
)
from toolscout.client.agents.tracker import SessionTracker
from toolscout.client.discovery.config import DiscoveryConfig, load
from toolscout.client.discovery.flow import AsyncToolDiscovery, ToolDiscovery
from toolscout.client.discovery.session import SessionStore
from toolscout.client.observe.events import SearchEvent, TurnEvent, log_event, log_turn
from toolscout.client.observe.jsonl import JsonLines
from toolscout.client.risk import RiskGate
from toolscout.client.selector.breaker import BreakerPolicy
from toolscout.client.selector.rollout import Rollout
from toolscout.client.selector.selection import Reason, Selection, Shadow
from toolscout.client.selector.selector import AsyncSelector, Selector
from toolscout.errors import (
    ConfigurationError,
    InvalidArgument,
    InvalidTool,
    ToolscoutError,
)

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
