"""Measure three servers with a hundred tools each, directly and behind the gateway.

python -m evals.mcp_tokens --data FOLDER --docs docs/mcp.md

FOLDER (or TOOLSCOUT_DATA) holds `catalogs/300.json`. Tokens are those of `o200k_base`; times are
medians over stdio, host, gateway and servers on the same machine.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import mean, median
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from evals import docs
from evals.speed.traffic import catalogs
from toolscout.tools.summary import first_sentence

with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
    import bpe_openai

    ENCODING = bpe_openai.get_encoding("o200k_base")

SERVERS, TOOLS_OF_EACH = 3, 100
CALLS = 200
QUERIES = 30
"""Tools, evenly from all, whose descriptions are searched for."""


def main() -> int:
    """Print the table, and write it where told to; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m evals.mcp_tokens", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with catalogs/ (or TOOLSCOUT_DATA)")
    parser.add_argument("--docs", type=Path, help="also write the table into its block here")
    parsed = parser.parse_args()
    folder = catalogs(parsed.data)
    if folder is None:
        print("skipped: no catalogs; name their folder with --data or TOOLSCOUT_DATA")
        return 0
    text = asyncio.run(table(folder / "300.json"))
    print(text)
    if parsed.docs:
        docs.write(parsed.docs, "mcp-tokens", text)
    return 0


async def table(catalog: Path) -> str:
    """Measure, and return the table."""
    servers = {
        f"server-{number}": {
            "command": sys.executable,
            "args": [
                *("-m", "evals.mcp_tokens.server", str(catalog)),
                *(str(TOOLS_OF_EACH * number), str(TOOLS_OF_EACH * (number + 1))),
            ],
            "cwd": str(Path.cwd()),
        }
        for number in range(SERVERS)
    }
    direct = [await listed(StdioTransport(**server)) for server in servers.values()]
    tools = [tool for each in direct for tool in each]
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "mcp.json"
        config.write_text(json.dumps({"mcpServers": servers}), "utf-8")
        gateway = ["-m", "toolscout", "mcp", "--config", str(config)]
        transport = StdioTransport(sys.executable, gateway, log_file=Path(folder) / "log")
        own = await listed(transport)
        found, read = await asked(transport, tools)
        times = await timed(transport, StdioTransport(**servers["server-0"]))
        await transport.close()
    rows = [
        (f"{SERVERS} servers, directly: {len(tools)} tools", tokens(tools)),
        (f"the same behind the gateway: {len(own)} tools", tokens(own)),
        ("and one search, five tools found (mean)", round(found)),
        ("and one `tool_info` (mean)", round(read)),
    ]
    lines = ["| in the prompt | tokens |", "|---|--:|"]
    lines += [f"| {title} | {count:,} |" for title, count in rows]
    whole, used = rows[0][1], sum(count for _, count in rows[1:])
    lines += [
        "",
        f"Together {used:,} tokens in place of {whole:,}: {used / whole:.1%}.",
        "",
        "Over stdio, with host, gateway and servers on the same cores, a search took "
        "{:.1f} ms, a call {:.1f} ms, and the same call to its server ".format(*times[:2])
        + f"{times[2]:.1f} ms (medians of {CALLS}).",
    ]
    return "\n".join(lines)


async def listed(transport: StdioTransport) -> list[dict[str, Any]]:
    """Return `tools/list` as it comes over the wire."""
    async with Client(transport) as client:
        tools = await client.list_tools()
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]


async def asked(transport: StdioTransport, tools: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the mean tokens of a search with its answer, and of a tool's info."""
    searches, infos = [], []
    async with Client(transport) as client:
        for tool in tools[:: len(tools) // QUERIES][:QUERIES]:
            query = {"query": first_sentence(tool.get("description") or tool["name"])}
            found = (await client.call_tool("search_tools", query)).content[0].text
            info = await client.call_tool("tool_info", {"name": tool["name"]})
            searches.append(count(json.dumps(query)) + count(found))
            infos.append(count(info.content[0].text))
    return mean(searches), mean(infos)


async def timed(transport: StdioTransport, server: StdioTransport) -> tuple[float, float, float]:
    """Return the median milliseconds of a search, of a call, and of the call to its server."""
    async with Client(transport) as host, Client(server) as direct:
        listing = json.loads((await host.call_tool("list_tools_meta")).content[0].text)
        names = [tool["name"] for tool in listing["tools"]]
        name = next(name for name in names if name.startswith("server-0__"))
        through = {"name": name, "arguments": {}}
        refusal = await host.call_tool("call_tool", through, raise_on_error=False)
        if refusal.is_error:  # of a tool that may change something
            through["token"] = json.loads(refusal.content[0].text)["token"]
        return (
            await median_ms(lambda: host.call_tool("search_tools", {"query": "create an issue"})),
            await median_ms(lambda: host.call_tool("call_tool", through)),
            await median_ms(lambda: direct.call_tool(name.removeprefix("server-0__"), {})),
        )


async def median_ms(call: Callable[[], Awaitable[object]]) -> float:
    """Return how long a call takes, after some to warm up."""
    times = []
    for _ in range(CALLS + CALLS // 10):
        start = time.perf_counter()
        await call()
        times.append(time.perf_counter() - start)
    return 1_000 * median(times[CALLS // 10 :])


def tokens(tools: list[dict[str, Any]]) -> int:
    """Count the tokens of a list, as compact JSON."""
    return count(json.dumps(tools, separators=(",", ":"), ensure_ascii=False))


def count(text: str) -> int:
    """Count the tokens of a text."""
    return len(ENCODING.encode_ordinary(text))


if __name__ == "__main__":
    sys.exit(main())
