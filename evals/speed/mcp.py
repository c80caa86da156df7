"""What `mcp = on` costs: start, memory, and a search over MCP beside the same over HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from evals.speed import client, traffic
from evals.speed.plan import learn, timed
from evals.speed.servers import Running, toolscout
from evals.speed.traffic import PROSE

SIZE = 300
STARTS = 7
REVISIONS = ("2025-11-25", "2026-07-28")


def report(folder: Path, calls: int) -> Iterator[str]:
    """Yield a line for each: medians of several starts, and latencies of one connection."""
    starts: dict[str, list[tuple[float, float, float]]] = {"off": [], "on": []}
    for _ in range(STARTS):
        for mcp, seen in starts.items():  # in turn, so that what else runs slows both
            with toolscout("--mcp", mcp) as running:
                seen.append((running.ready_s, running.memory_mib()[0], running.proportional_mib()))
    for mcp, seen in starts.items():
        ready, resident, whole = map(median, zip(*seen, strict=True))
        yield (
            f"mcp {mcp}: {ready:.2f} s to ready, {resident:.0f} MiB, with its worker {whole:.0f}"
        )
    tools = json.dumps(traffic.load(folder, SIZE))
    with toolscout("--mcp", "on") as running:
        digest = learn(running, tools, SIZE)
        search = [{"pattern": text, "catalog": digest, "top_k": 10} for text in PROSE]
        yield _timed("HTTP", running, [_post(traffic.SEARCH, body, {}) for body in search], calls)
        for revision in REVISIONS:
            messages = [_message(revision, text, digest) for text in PROSE]
            yield _timed(f"MCP {revision}", running, messages, calls)
        yield f"afterwards: {running.memory_mib()[0]:.0f} MiB"


def _timed(name: str, running: Running, payloads: list[bytes], calls: int) -> str:
    client.run(running.port, payloads, 1, len(payloads))
    timings = timed(running, payloads, 1, calls)
    assert set(timings.statuses) == {200}, timings.statuses
    return (
        f"{name}: p50 {timings.quantile(0.5):.2f} ms, p95 {timings.quantile(0.95):.2f}, "
        f"CPU {timings.cpu_ms:.2f} ms"
    )


def _message(revision: str, text: str, digest: str) -> bytes:
    name = "search_tools"
    params: dict[str, Any] = {"name": name, "arguments": {"query": text, "catalog": digest}}
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": revision,
    }
    if revision == REVISIONS[-1]:
        headers |= {"Mcp-Method": "tools/call", "Mcp-Name": name}
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": revision,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return _post("/mcp", message, headers)


def _post(path: str, body: Any, headers: dict[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    start, end = client.request(path, json.dumps(body).encode()).split(b"\r\n", 1)
    return start + b"\r\n" + lines.encode() + end
