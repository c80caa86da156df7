"""A whole turn of a model: show few tools, find more while it works, learn from its calls.

    from toolscout.discovery import Transport

    client = OpenAI(http_client=httpx2.Client(transport=Transport("http://127.0.0.1:8080")))

`Transport` and `AsyncTransport` do it for the SDK of any provider, `ToolDiscovery` and
`AsyncToolDiscovery` step by step for a proxy. Errors are those of `toolscout.client`.

The rest is in the submodules: `meta`, `session`, `tracker`. These are the public names of
`toolscout.turns`, where the code is.
"""

from toolscout.turns.config import DiscoveryConfig, load
from toolscout.turns.drivers.tool_discovery import AsyncToolDiscovery, ToolDiscovery
from toolscout.turns.drivers.transport import AsyncTransport, Transport

__all__ = [
    "AsyncToolDiscovery",
    "AsyncTransport",
    "DiscoveryConfig",
    "ToolDiscovery",
    "Transport",
    "load",
]
