"""The MCP facade, asked by SDKs and by the inspector, each in an environment of its own."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ACME_OLD
from tests.integration.mcp_clients import inspector
from tests.integration.venvs import ROOT, interpreter
from tests.support import TOOLS, Process, environment, ran, running

pytestmark = pytest.mark.integration

VENVS = ROOT / ".venv-mcp"
CLIENTS = Path(__file__).with_name("clients")
PACKAGES = {"mcp1": "mcp>=1.30,<2", "mcp2": "mcp>=2.3,<3", "fastmcp4": "fastmcp>=4.1,<5"}
CLIENT_S = 60
TITLES = ["Search tools", "List all tools", "Show one tool", "Show several tools", "Keys of a tool"]
BILL = {
    "name": "pay_invoice",
    "description": "Pay an invoice.",
    "definition": {
        "type": "object",
        "properties": {"amount": {"type": "number"}},
        "required": ["amount"],
    },
}
SCHEMA = f"Its input schema: {json.dumps(BILL['definition'], separators=(',', ':'))}"


@pytest.fixture(scope="module")
def facade(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    keys = f"acme={ACME_OLD}"
    with running(tmp_path_factory.mktemp("mcp"), "--mcp", TOOLSCOUT_API_KEYS=keys) as started:
        body, headers = {"tools": [*TOOLS, BILL]}, {"x-api-key": ACME_OLD}
        started.client.put("/v1/catalogs/office", json=body, headers=headers).raise_for_status()
        yield started


def run(command: list[str], env: dict[str, str]) -> str:
    """Return what a program prints."""
    done = ran(command, env=env, timeout=CLIENT_S)
    return done.stdout


@pytest.mark.parametrize(
    ("client", "mode", "revision", "code"),
    [
        ("mcp1", None, "2025-11-25", -32002),
        ("mcp2", "legacy", "2025-11-25", -32002),
        ("mcp2", "auto", "2026-07-28", -32602),
        ("fastmcp4", "legacy", "2025-11-25", -32002),
        ("fastmcp4", "auto", "2026-07-28", -32602),
    ],
)
def test_a_client_finds_its_tool(
    client: str, mode: str | None, revision: str, code: int, facade: Process
):
    python = interpreter(VENVS / client, [PACKAGES[client]])
    env = {name: value for name, value in environment().items() if name != "PYTHONPATH"}
    arguments = [f"{facade.url}/mcp", ACME_OLD, *([mode] if mode else [])]
    printed = run([str(python), str(CLIENTS / f"{client}.py"), *arguments], env)
    answer = json.loads(printed.splitlines()[-1])
    assert SCHEMA in answer.pop("prompt").splitlines()
    assert answer.pop("overview").startswith("9 tools")
    assert answer == {
        "revision": revision,
        "titles": TITLES,
        "found": "pay_invoice",
        "is_error": True,
        "code": code,
    }


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_finds_no_fault(era: str, facade: Process):
    target = [f"{facade.url}/mcp", "--transport", "http", "--protocol-era", era]
    key = ["--header", f"X-API-Key: {ACME_OLD}"]

    def ask(method: str, *more: str) -> Any:
        return inspector.ask(*target, *key, "--method", method, *more)

    tools = ask("tools/list", "--strict")["tools"]
    assert [tool["title"] for tool in tools] == TITLES
    asked = ["--tool-arg", "query=pay the bill", "top_k=1"]
    found = ask("tools/call", "--tool-name", "search_tools", *asked)
    assert found["structuredContent"]["tools"][0]["name"] == "pay_invoice"
    prompt = ask("prompts/get", "--prompt-name", "find_tool", "--prompt-args", "task=pay the bill")
    assert SCHEMA in prompt["messages"][0]["content"]["text"].splitlines()
    assert len(ask("resources/list")["resources"]) == 2
    assert len(ask("resources/templates/list")["resourceTemplates"]) == 3
    (content,) = ask("resources/read", "--uri", "toolscout://office/overview")["contents"]
    assert content["text"].startswith("9 tools")
