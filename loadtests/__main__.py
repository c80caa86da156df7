"""Start the service, put load on it, and say whether it kept its latency budget.

With `--soak` it also says whether memory, threads or open files grew once caches were full.
Exit status: 0 kept, 1 missed, errors or growth. The report (HTML) and the figures (CSV) stay in a
folder.
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from tqdm import tqdm

from evals.speed import servers
from loadtests.watch import Watch, grown

BUDGET_MS = 150
"""What is promised to proxies: 95 of 100 calls take no longer."""

SOAK_CACHE_BYTES = 16 * 2**20
SAMPLES = 600
"""How often a soaked process is looked at, whatever the length of the run."""

ALL = "Aggregated"


def main() -> int:
    """Run it; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m loadtests", description=__doc__)
    parser.add_argument("--users", type=int, default=34)
    parser.add_argument("--calls-per-user", type=float, default=5, help="calls a second")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--host", help="a service that runs already, e.g. http://10.0.0.5:8080")
    parser.add_argument("--api-key", default="", help="for that service")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--soak", action="store_true", help="watch the process for growth")
    flags = parser.parse_args()
    if flags.soak and flags.host:
        parser.error("--soak watches a process that it starts; leave out --host")
    flags.out.mkdir(parents=True, exist_ok=True)
    server: AbstractContextManager[servers.Running | None]
    # A small cache is full soon, and only what happens after that says anything of growth.
    few = ("--cache-bytes", str(SOAK_CACHE_BYTES)) if flags.soak else ()
    server = nullcontext() if flags.host else servers.toolscout(*few)
    watch: AbstractContextManager[Watch | None] = nullcontext()
    with server as running:
        host = flags.host or f"http://127.0.0.1:{running.port if running else 0}"
        if running and flags.soak:
            watch = Watch(running.pid, max(flags.seconds / SAMPLES, 0.2))
        with watch as watched:
            status = _locust(flags, host)
        if running:
            resident, peak = running.memory_mib()
    if status:
        sys.stderr.write(
            f"locust failed with status {status}; pip install -e '.[server,load]' brings it\n"
        )
        return status
    kept = _report(flags.out / "load_stats.csv")
    size = f"{os.cpu_count()} cores, shared by service and load; Python {sys.version.split()[0]}"
    print(f"\n{size}")
    if running:
        print(f"service: {resident:.0f} MiB resident, {peak:.0f} MiB at most")
    print(f"report: {flags.out / 'load.html'}")
    verdict = "kept" if kept else "MISSED"
    print(f"budget over all calls, p95 of {BUDGET_MS} ms and no errors: {verdict}")
    if watched is not None:
        kept = _steady(watched) and kept
    return 0 if kept else 1


def _steady(watched: Watch) -> bool:
    """Print what became of the process; returns whether nothing grew."""
    early, late, found = grown(watched.samples)
    for moment in (early, late):
        print(
            f"after {moment.seconds:.0f} s: {moment.memory_mib:.0f} MiB, "
            f"{moment.threads} threads, {moment.files} open files"
        )
    print(f"growth: {', '.join(found) or 'none'}")
    return not found


def _locust(flags: argparse.Namespace, host: str) -> int:
    root = Path(__file__).parents[1]
    command = [sys.executable, "-m", "locust", "-f", str(Path(__file__).with_name("locustfile.py"))]
    command += ["--headless", "--host", host, "--only-summary", "--loglevel", "ERROR"]
    command += ["--users", str(flags.users), "--spawn-rate", str(flags.users)]
    command += ["--run-time", f"{flags.seconds}s", "--reset-stats", "--exit-code-on-error", "0"]
    command += ["--calls-per-user", str(flags.calls_per_user)]
    command += ["--html", str(flags.out / "load.html"), "--csv", str(flags.out / "load")]
    if flags.api_key:
        command += ["--api-key", flags.api_key]
    path = os.pathsep.join(part for part in (str(root), os.environ.get("PYTHONPATH")) if part)
    environ = os.environ | {"PYTHONPATH": path}
    with (
        tempfile.TemporaryFile() as said,
        tqdm(total=flags.seconds, desc="load", unit="s", disable=None) as bar,
        subprocess.Popen(
            command, cwd=root, env=environ, stdout=subprocess.DEVNULL, stderr=said
        ) as process,
    ):
        while process.poll() is None:
            time.sleep(1)
            bar.update(min(1, flags.seconds - bar.n))
        if process.returncode:
            said.seek(0)
            sys.stderr.buffer.write(said.read())
    return process.returncode


def _report(path: Path) -> bool:
    """Print the table; returns whether all calls together kept the budget, without any error."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if int(row["Request Count"])]
    print("| call | calls | calls/s | p50 ms | p95 ms | p99 ms | errors |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        name = "all" if row["Name"] == ALL else row["Name"]
        quantiles = [row[share] for share in ("50%", "95%", "99%")]
        rate = f"{float(row['Requests/s']):.1f}"
        cells = [name, row["Request Count"], rate, *quantiles, row["Failure Count"]]
        print(f"| {' | '.join(cells)} |")
    total = next((row for row in rows if row["Name"] == ALL), None)
    if total is None:
        return False
    return float(total["95%"]) <= BUDGET_MS and int(total["Failure Count"]) == 0


if __name__ == "__main__":
    raise SystemExit(main())
