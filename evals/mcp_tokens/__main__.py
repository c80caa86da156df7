"""Have a scripted agent do tasks over nine published servers, with and without a gateway.

python -m evals.mcp_tokens --servers .venv-mcp-nine --docs docs/mcp.md

The servers are installed into that folder on first use (npm and pip). Compared are all tools in
the prompt, fastmcp's own search, and the gateway. Tokens are those of `o200k_base`. The page gets
the figures of the twelve tasks that nothing is tuned on; those of twelve others are printed.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import mean, median
from threading import Thread
from typing import Any

from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport
from fastmcp.server.transforms.search import BM25SearchTransform
from fastmcp.tools import Tool
from fastmcp.tools.base import ToolResult

from evals import docs
from evals.mcp_tokens import agent, published
from evals.mcp_tokens.agent import Conversation, Outcome
from evals.mcp_tokens.tasks import Task, tasks
from evals.mcp_tokens.tuned import tuned_tasks

STARTS = 5
CALLS = 50
"""Calls of which the median time is taken."""

Agent = Callable[[Conversation], Awaitable[Outcome]]
Row = tuple[str, tuple[int, list[Outcome]]]
"""A way, the tokens of its prompt at the start, and what each task took."""


class Forwarded(Tool):  # type: ignore[misc]  # the library has no types here
    """A tool of one of the servers, under its whole name."""

    client: Any
    original: str

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Call it at its server."""
        result = await self.client.call_tool_mcp(self.original, arguments)
        return ToolResult(content=result.content, is_error=bool(result.is_error))


def main() -> int:
    """Print the tables, and write them where told to; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m evals.mcp_tokens", description=__doc__)
    folder = Path(".venv-mcp-nine")
    parser.add_argument("--servers", type=Path, default=folder, help="folder to install them into")
    parser.add_argument("--docs", type=Path, help="also write the table into its block here")
    parsed = parser.parse_args()
    published.install(parsed.servers)
    with tempfile.TemporaryDirectory() as work:
        text = asyncio.run(table(parsed.servers.absolute(), Path(work)))
    print(text)
    if parsed.docs:
        total, times, *_ = text.split("\n\n")
        docs.write(parsed.docs, "mcp-tokens", f"{total}\n\n{times}")
    return 0


async def table(folder: Path, work: Path) -> str:
    """Do all tasks in three ways; return what they took, with a blank line between tables."""
    published.prepare(work)
    servers = published.servers(folder, work)
    with serving(work / "files") as page:
        tuned = tuned_tasks(work, page)
        todo = [*tuned, *tasks(work, page)]
        rows: list[Row] = []
        async with AsyncExitStack() as stack:
            server, direct = await forwarding(stack, servers)
            everything = await stack.enter_async_context(Client(server, mode="legacy"))
            sizes = len(await everything.list_tools())
            rows.append((f"all {sizes} tools", await run(everything, agent.directly, todo)))
            published.reset(work)
            server.add_transform(BM25SearchTransform())
            searching = await stack.enter_async_context(Client(server, mode="legacy"))
            rows.append(("fastmcp's search", await run(searching, agent.by_transform, todo)))
            gateway = gateway_over(servers, work)
            async with Client(gateway, mode="legacy") as first:  # which fills the cache
                await until_listed(first, len(servers))
            await gateway.close()
            published.reset(work)
            ready_s = min([await until_ready(servers, work) for _ in range(STARTS)])
            gateway = gateway_over(servers, work)
            host = await stack.enter_async_context(Client(gateway, mode="legacy"))
            rows.insert(1, ("`toolscout mcp`", await run(host, agent.by_gateway, todo)))
            lines = await timed(host, direct["time"], ready_s)
    told = [(way, (prompt, outcomes[len(tuned) :])) for way, (prompt, outcomes) in rows]
    others = [(way, (prompt, outcomes[: len(tuned)])) for way, (prompt, outcomes) in rows]
    parts = [summary(told), lines, ["Tasks that the gateway's texts were tuned on:"]]
    parts += [summary(others), by_task(todo, rows)]
    return "\n\n".join("\n".join(part) for part in parts)


async def forwarding(
    stack: AsyncExitStack, servers: dict[str, dict[str, Any]]
) -> tuple["FastMCP[Any]", dict[str, Client[Any]]]:
    """Return a server with the tools of all, and a connection to each."""
    everything: FastMCP[Any] = FastMCP("everything", dereference_schemas=False)
    direct = {}
    for name, config in servers.items():
        log = Path(os.devnull)
        client = direct[name] = Client(StdioTransport(**config, log_file=log), mode="legacy")
        await stack.enter_async_context(client)
        for tool in await client.list_tools():
            everything.add_tool(
                Forwarded(
                    name=f"{name}__{tool.name}",
                    description=tool.description,
                    parameters=tool.input_schema,
                    client=client,
                    original=tool.name,
                )
            )
    return everything, direct


async def run(host: Client[Any], how: Agent, todo: Sequence[Task]) -> tuple[int, list[Outcome]]:
    """Return the tokens of the tools and instructions, and what each task took."""
    prompt = agent.prompt_tokens(await host.list_tools(), host.initialize_result.instructions)
    return prompt, [await how(Conversation(host, prompt, task)) for task in todo]


def gateway_over(servers: dict[str, dict[str, Any]], work: Path) -> StdioTransport:
    """Return a gateway as hosts start it, with a cache of its own."""
    config = work / "mcp.json"
    config.write_text(json.dumps({"mcpServers": servers}), "utf-8")
    command = ["-m", "toolscout", "mcp", "--config", str(config)]
    env = {**os.environ, "XDG_CACHE_HOME": str(work / "cache")}
    return StdioTransport(sys.executable, command, env, log_file=work / "log", keep_alive=False)


async def until_listed(host: Client[Any], count: int) -> None:
    """Wait until all servers have been listed."""
    while True:
        prompt = await host.get_prompt("backend_status")
        if prompt.messages[0].content.text.count(": answers") == count:
            return
        await asyncio.sleep(0.2)


async def until_ready(servers: dict[str, dict[str, Any]], work: Path) -> float:
    """Return the seconds from the start of a gateway to its answer to a search."""
    began = time.perf_counter()
    async with Client(gateway_over(servers, work), mode="legacy") as host:
        await host.list_tools()
        await host.call_tool("search_tools", {"query": "read a file"})
        return time.perf_counter() - began


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a table with a line for each way."""
    yield "| | prompt at start | turns a task | prompt tokens a task, all turns | done |"
    yield "|---|--:|--:|--:|--:|"
    for title, (prompt, outcomes) in rows:
        turns, tokens = mean(one.turns for one in outcomes), mean(one.tokens for one in outcomes)
        done = f"{sum(one.is_done for one in outcomes)} of {len(outcomes)}"
        yield f"| {title} | {prompt:,} | {turns:.2f} | {tokens:,.0f} | {done} |"


def by_task(todo: Sequence[Task], rows: Sequence[Row]) -> Iterator[str]:
    """Yield a table with a line for each task: turns and tokens in each way."""
    yield f"| task, done by | {' | '.join(title for title, _ in rows)} |"
    yield f"|---|{'--:|' * len(rows)}"
    for number, task in enumerate(todo):
        took = [outcomes[number] for _, (_, outcomes) in rows]
        cells = [
            f"{one.turns} turns, {one.tokens:,}{'' if one.is_done else ', not done'}"
            for one in took
        ]
        yield f"| `{task.tool}` | {' | '.join(cells)} |"


async def timed(host: Client[Any], direct: Client[Any], ready_s: float) -> list[str]:
    """Return how long the start, a search and a call took, in a sentence."""
    arguments = {"timezone": "UTC"}
    call = {"name": "time__get_current_time", "arguments": arguments}
    search = {"query": "current time in a time zone"}
    search_ms = await median_ms(partial(host.call_tool, "search_tools", search))
    call_ms = await median_ms(partial(host.call_tool, "call_tool", call))
    own_ms = await median_ms(partial(direct.call_tool, "get_current_time", arguments))
    return [
        f"With nine servers in its cache the gateway answered a search {ready_s:.1f} s after its "
        f"start (the fastest of {STARTS}); later a search took {search_ms:.1f} ms, a call "
        f"{call_ms:.1f} ms, and the same call to its server {own_ms:.1f} ms "
        f"(medians of {CALLS}, all on the same two cores).",
    ]


async def median_ms(call: Callable[[], Awaitable[object]]) -> float:
    """Return how long a call takes, after some to warm up."""
    times = []
    for _ in range(CALLS + 5):
        start = time.perf_counter()
        await call()
        times.append(time.perf_counter() - start)
    return 1_000 * median(times[5:])


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder over HTTP; yield the address of its page."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/index.html"
        server.shutdown()


if __name__ == "__main__":
    sys.exit(main())
