"""Meta-tools for agents that search by themselves; see `toolscout.turns.meta`."""

from toolscout.turns.meta import (
    META_TOOL_NAMES,
    handle_meta_call,
    handle_meta_call_async,
    instructions,
    meta_tools,
)

__all__ = [
    "META_TOOL_NAMES",
    "handle_meta_call",
    "handle_meta_call_async",
    "instructions",
    "meta_tools",
]
