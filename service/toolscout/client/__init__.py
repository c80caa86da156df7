"""Ask the service which tools to show; fall open (show all of them) when there is no answer.

    from toolscout.client import Selector

    with Selector("http://127.0.0.1:8080") as selector:
        if tools := selector.select(query, request.pop("tools", None) or []).tools:
            request["tools"] = tools

Only mistakes in a constructor raise; every other failure falls open.

    ToolscoutError
    ├── InvalidArgument     an argument has the wrong type (also a TypeError)
    │   └── InvalidTool     something is no tool of any known shape (`risk`, `Engine`)
    └── ConfigurationError  a configuration file cannot be read, or a value in it is malformed

The rest is in the submodules: `breaker`, `events`, `jsonl`, `metrics`, `rollout`. Whole turns of a
model are the subject of `toolscout.discovery`.
"""

from toolscout.client.selection import Reason, Selection
from toolscout.client.selector import AsyncSelector, Selector
from toolscout.errors import ConfigurationError, InvalidArgument, InvalidTool, ToolscoutError

__all__ = [
    "AsyncSelector",
    "ConfigurationError",
    "InvalidArgument",
    "InvalidTool",
    "Reason",
    "Selection",
    "Selector",
    "ToolscoutError",
]
