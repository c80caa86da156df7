"""One, two and four processes behind HAProxy: by catalog (the example's way) and in turn.

Callers hold many catalogs and name them by digest, as the client does: after a 404 the tools are
sent once more. Together the catalogs are more than one process keeps. What is shown is how many
calls found their catalog where they came; how much faster more processes are depends on the
cores, which load, balancer and processes share here.
"""

import argparse
import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from time import monotonic, perf_counter, sleep
from urllib.request import urlopen

from tqdm import tqdm

from evals import programs
from evals.speed import servers, traffic
from loadtests import catalogs

CONFIG = Path(__file__).parents[1] / "deploy" / "balancers" / "haproxy.cfg"
PROCESSES = (1, 2, 4)
POLICIES = {"by catalog": "hash var(txn.affinity)", "in turn": "roundrobin"}
CALLERS = 60
CONNECTIONS = 12
WARM_UPS = 3
"""How often everybody calls before it counts."""

CACHE_BYTES = 72 * 2**20
"""Room for about half of the callers' catalogs in one process."""


@dataclass(slots=True)
class Tally:
    """What became of the calls that named their catalog."""

    known: int = 0
    unknown: int = 0
    failed: int = 0
    latencies: list[float] = field(default_factory=list)

    @property
    def hit_rate(self) -> float:
        """Share of them that found it."""
        return self.known / max(self.known + self.unknown, 1)

    def quantile(self, share: float) -> float:
        """Latency in milliseconds of a search, with the tools sent again where that was needed."""
        ordered = sorted(self.latencies)
        return ordered[int(share * (len(ordered) - 1))] * 1_000


@dataclass(slots=True)
class Caller:
    """One proxy: its tools, and their digest once it was told."""

    tools: str
    digest: str = ""


def main() -> int:
    """Print the table; returns 1 where a call failed."""
    parser = argparse.ArgumentParser(prog="python -m loadtests.scaleout", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="of measuring, per row")
    parser.add_argument("--processes", type=int, nargs="+", default=PROCESSES)
    parser.add_argument("--connections", type=int, default=CONNECTIONS, help="of the callers")
    flags = parser.parse_args()
    if shutil.which("haproxy", path=_path()) is None:
        sys.stderr.write("needs haproxy (apt-get install haproxy)\n")
        return 1
    over = f"over {flags.connections} connections, {os.cpu_count()} cores"
    print(f"{CALLERS} catalogs of 300 tools {over}")
    print("| processes | balanced | calls/s | p50 ms | p95 ms | found their catalog | failed |")
    print("|---|---|---|---|---|---|---|")
    failed = 0
    rows = [
        (count, policy)
        for count in flags.processes
        for policy in (POLICIES if count > 1 else ("by catalog",))
    ]
    for count, policy in tqdm(rows, desc="scale-out", unit="row", disable=None):
        tally = measure(count, policy, flags.seconds, flags.connections)
        failed += tally.failed
        rate = len(tally.latencies) / flags.seconds
        cells = (count, policy, f"{rate:,.0f}", f"{tally.quantile(0.5):.1f}")
        more = (f"{tally.quantile(0.95):.1f}", f"{tally.hit_rate:.1%}", tally.failed)
        tqdm.write(f"| {' | '.join(map(str, cells + more))} |")
    return 1 if failed else 0


def measure(count: int, policy: str, seconds: float, connections: int = CONNECTIONS) -> Tally:
    """Run so many processes under so long a load."""
    with ExitStack() as running:
        flags = ("--cache-bytes", str(CACHE_BYTES))
        replicas = [running.enter_context(servers.toolscout(*flags)) for _ in range(count)]
        port = running.enter_context(_balancer([r.port for r in replicas], POLICIES[policy]))
        callers = [Caller(catalogs.unseen(300)) for _ in range(CALLERS)]
        for _ in range(WARM_UPS):
            asyncio.run(_load(port, callers, connections, calls=CALLERS))
            while any(_compiling(replica.port) for replica in replicas):
                sleep(0.1)
        return asyncio.run(_load(port, callers, connections, seconds=seconds))


async def _load(
    port: int,
    callers: list[Caller],
    connections: int,
    calls: int | None = None,
    seconds: float = 3_600,
) -> Tally:
    tally, until = Tally(), monotonic() + seconds
    turn = islice(cycle(callers), calls)
    patterns = cycle(traffic.PROSE)

    async def connection() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
        for caller in turn:
            if monotonic() > until:
                break
            began = perf_counter()
            if caller.digest:
                status = await _ask(reader, writer, caller, next(patterns), by_digest=True)
                tally.known += status == 200
                tally.unknown += status == 404
                if status != 404:
                    tally.failed += status != 200
                    tally.latencies.append(perf_counter() - began)
                    continue
            tally.failed += await _ask(reader, writer, caller, next(patterns)) != 200
            tally.latencies.append(perf_counter() - began)
        writer.close()

    await asyncio.gather(*(connection() for _ in range(connections)))
    return tally


async def _ask(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    caller: Caller,
    pattern: str,
    by_digest: bool = False,
) -> int:
    """One search; remembers the digest that the answer names. Returns the status."""
    named = f'"catalog":"{caller.digest}"' if by_digest else f'"tools":{caller.tools}'
    body = f'{{"pattern":{json.dumps(pattern)},"latency_budget_ms":1000,{named}}}'.encode()
    head = f"POST {traffic.SEARCH} HTTP/1.1\r\nHost: localhost\r\n"
    head += "Content-Type: application/json\r\n"
    if caller.digest:
        head += f"X-Catalog-Digest: {caller.digest}\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    await reader.readexactly(int(headers["content-length"]))
    caller.digest = headers.get("x-catalog-digest", caller.digest)
    return int(lines[0].split()[1])


@contextmanager
def _balancer(ports: list[int], policy: str) -> Iterator[int]:
    """HAProxy with the example's configuration, for these replicas and in this way."""
    kept = [line for line in CONFIG.read_text("utf-8").splitlines() if "server replica" not in line]
    lines = [f"    balance {policy}" if "balance hash" in line else line for line in kept]
    lines += [f"    server replica-{n} 127.0.0.1:{port}" for n, port in enumerate(ports, 1)]
    own = programs.free_port()
    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as config:
        config.write("\n".join(lines) + "\n")
        config.flush()
        environ = os.environ | {"BIND": f"127.0.0.1:{own}"}
        haproxy = str(shutil.which("haproxy", path=_path()))
        command = [haproxy, "-f", config.name]
        with programs.running(command, lambda: servers.ready(own), end=signal.SIGKILL, env=environ):
            sleep(1.5)  # all of them were asked twice
            yield own


def _compiling(port: int) -> bool:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return b"\ntoolscout_compiles_in_progress 0.0\n" not in answer.read()


def _path() -> str:
    return os.environ.get("PATH", "") + os.pathsep + "/usr/sbin"


if __name__ == "__main__":
    raise SystemExit(main())
