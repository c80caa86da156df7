"""Clients of hosts list the gateway's tools, search, and call what they have found."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.mcp.hosts import listening, stdio_server, write
from tests.integration.mcp.environment import VENV
from tests.integration.mcp_clients import inspector
from tests.integration.venvs import interpreter
from tests.support import environment, ran

pytestmark = pytest.mark.integration

ASK = Path(__file__).with_name("agents") / "ask.py"
ENVIRONMENTS = {
    "agents": ("openai-agents>=0.24,<1", "pydantic-ai-slim[mcp]>=2.68,<3", "fastmcp>=4.1,<5"),
    "older": ("mcp-use>=1.7,<2", "langchain-mcp-adapters>=0.3,<0.4"),
}
"""Those of the second need the first major version of the SDK."""

CLIENTS = {
    "agents": ("fastmcp", "mcp", "openai_agents", "pydantic_ai"),
    "older": ("mcp_use", "langchain"),
}
HOST_S = 120
LISTED = ["search_tools", "call_tool", "call_tool_write"]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("gateway")
    config = write(folder, {"notes": stdio_server()})
    command = ["-m", "toolscout", "mcp", "--config", str(config), "--http", "127.0.0.1:PORT"]
    with listening(folder, *command) as (url, _):
        yield url


@pytest.mark.parametrize(
    ("where", "client"), [(where, one) for where, clients in CLIENTS.items() for one in clients]
)
def test_a_client_calls_what_its_search_has_found(where: str, client: str, gateway: str):
    python = interpreter(VENV / where, ENVIRONMENTS[where])
    env = {name: value for name, value in environment().items() if name != "PYTHONPATH"}
    done = ran([python, ASK, gateway, client], env=env, timeout=HOST_S)
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer == {
        "listed": LISTED,
        "found": "notes__send_note",
        "said": "sent tea",
    }


def test_the_inspector_lists_and_calls(gateway: str):
    target = [gateway, "--transport", "http", "--method"]
    listed = inspector.ask(*target, "tools/list", "--strict")["tools"]
    assert [tool["name"] for tool in listed] == LISTED
    call = ["tools/call", "--tool-name", "search_tools", "--tool-arg", "query=list the notes"]
    (answer,) = inspector.ask(*target, *call)["content"]
    best = json.loads(answer["text"])["tools"][0]
    assert (best["name"], best["call"]) == ("notes__list_notes", "call_tool")
    call = ["tools/call", "--tool-name", "call_tool", "--tool-arg", f"name={best['name']}"]
    assert inspector.ask(*target, *call)["structuredContent"]["notes"] == ["milk", "bread"]
