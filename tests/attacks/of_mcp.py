"""Expensive calls of MCP, by several callers of one tenant."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tests.attacks.attack import FIRST, FLOOD, Attack, at_once, post, with_flags
from tests.attacks.dearest import CATALOG, LARGE
from tests.attacks.test_patterns import ALTERNATIVES, COUNTED, STATES
from tests.support import Process, crowd

DEAR_QUERIES = (COUNTED, ALTERNATIVES, STATES, "[" * 4_096, "spin a gadget " * 10_000)
"""What is searched for over MCP."""


def _mcp(*calls: tuple[str, dict[str, Any]]) -> Callable[[Process], None]:
    """Make calls of MCP, each by several callers."""

    def run(server: Process) -> None:
        for method, params in calls:
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            statuses: list[int] = []
            at_once(FLOOD, partial(_ask, server, message, statuses))
            assert set(statuses) <= {200, 503}, (method, statuses)

    return run


def _ask(server: Process, message: dict[str, Any], statuses: list[int]) -> None:
    headers = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {FIRST}"}
    with server.new_client(None) as client:
        statuses.append(client.post("/mcp", json=message, headers=headers).status_code)


def _tool(name: str, /, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return "tools/call", {"name": name, "arguments": arguments}


_FIND = {"name": "find_tool", "arguments": {"task": "spin a gadget " * 10_000}}


def _register(server: Process) -> None:
    tools = crowd(LARGE)
    post(server, CATALOG, {"tools": tools}, "PUT").raise_for_status()


def of_mcp() -> Iterator[Attack]:
    """List the attacks over MCP."""
    near = ["gadgte_" + "7_spni_" * 140] * 20
    for name, calls in (
        ("searches", [_tool("search_tools", query=text, top_k=100) for text in DEAR_QUERIES]),
        ("names", [_tool("tool_info", name=near[0]), _tool("get_tool_schemas", names=near)]),
        ("pages", [_tool("list_tools_meta", page_size=1_000, detail=d) for d in ("brief", "full")]),
        ("index", [("resources/read", {"uri": "toolscout://bounded/index"})]),
        ("prompts", [("prompts/get", _FIND), ("prompts/get", {"name": "backend_status"})]),
        ("junk", [_tool("search_tools", query="x", junk=[[]] * 60_000)]),
    ):
        yield Attack(f"mcp: {name}", _mcp(*calls), _register, with_flags("--mcp"))
