"""Two hundred callers at once through one proxy: each gets the few, and none all tools."""

import asyncio
import json
from collections import Counter
from pathlib import Path

import httpx2
import pytest

from evals.speed import servers
from loadtests import catalogs
from tests.client.upstream import Exchange, peer
from tests.gateway.proxies import proxy
from tests.turns.shapes import BY_NAME, Json, Said

pytestmark = [pytest.mark.integration, pytest.mark.alone]

CALLERS = 200
TOP_K = 5
OPENAI = BY_NAME["openai"]


def resident_mib(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def chat_tools() -> list[Json]:
    return [
        {"type": "function", "function": {"name": name, "description": about, "parameters": schema}}
        for name, about, schema in map(parts_of, json.loads(catalogs.tools(300)))
    ]


def parts_of(tool: Json) -> tuple[str, str, Json]:
    definition = tool.get("definition") or {}
    function = definition.get("function") or definition
    keys = ("input_schema", "inputSchema", "parameters")
    schema = next((function[key] for key in keys if key in function), function)
    return tool["name"], tool.get("description") or "", schema


def test_a_burst_does_not_fall_open():
    seen: Counter[int] = Counter()
    answer = json.dumps(OPENAI.response(Said("Done."))).encode()

    def model(exchange: Exchange) -> None:
        seen[len(exchange.json["tools"])] += 1
        exchange.body = b""
        exchange.answer(answer, headers=[("Content-Type", "application/json")])

    tools = chat_tools()

    async def burst(url: str) -> Counter[int]:
        limits = httpx2.Limits(max_connections=None)
        async with httpx2.AsyncClient(base_url=url, timeout=120, limits=limits) as client:

            async def ask(number: int) -> int:
                body = OPENAI.request(f"copy file number {number} to the backup folder", tools)
                return (await client.post("/v1/chat/completions", json=body)).status_code

            return Counter(await asyncio.gather(*map(ask, range(CALLERS))))

    with (
        servers.toolscout() as service,
        peer(model) as upstream,
        proxy(f"{upstream.url}/v1", selector=f"http://127.0.0.1:{service.port}") as server,
    ):
        before = resident_mib(server.process.pid)
        assert asyncio.run(burst(server.url)) == {200: CALLERS}
        grown = resident_mib(server.process.pid) - before
    print(f"\nthe proxy grew by {grown:.0f} MiB; tools that the model saw: {dict(seen)}")
    assert max(seen) <= TOP_K + 2  # search_tools and call_tool
    assert grown <= 60
