"""What runs at night, longer than a change can wait for; a line of figures for each part.

python -m tests.nightly [attacks] [fuzz] [soak] [stores] [advisories]

FUZZ_S and SOAK_S are the seconds of two of them, FUZZ_SEED repeats a run of the first one, ATTACKS
has words of the attacks that are replayed. Exit status: 1 where a promise was broken.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import SystemRandom

from tests.nightly.fuzz import fuzz
from tests.nightly.matrix import try_stores
from tests.nightly.soak import soak

FUZZ_S = 1_200
SOAK_S = 900

ROOT = Path(__file__).parents[2]


def seconds(name: str, usual: int) -> int:
    """Return how long a part runs."""
    return int(os.environ.get(name) or usual)


def run_attacks(_: Path) -> bool:
    """Replay the attacks."""
    words = os.environ.get("ATTACKS", "").split()
    done = run([sys.executable, "-m", "tests.attacks", *words])
    rows = re.findall(r"^.{44} +(\d+) +[\d.]+ +\d+ +(\d+) ", done.stdout, re.M)
    stall_ms = max((int(stall) for stall, _ in rows), default=0)
    most_mib = max((int(mib) for _, mib in rows), default=0)
    broken = done.stdout.count("broken:")
    print(
        f"attacks: {len(rows)} replayed, longest stall {stall_ms} ms, at most {most_mib} MiB,",
        end="",
    )
    print(f" {broken} promises broken")
    if done.returncode:
        print(done.stdout[-4_000:], done.stderr[-4_000:])
    return done.returncode == 0 and bool(rows)


def run_fuzz(folder: Path) -> bool:
    """Fuzz all calls, with a seed that was not used before."""
    seed = os.environ.get("FUZZ_SEED") or str(SystemRandom().randrange(10**9))
    return fuzz(folder, seconds("FUZZ_S", FUZZ_S), seed)


def run_soak(folder: Path) -> bool:
    """Use every store that processes share, while they are killed."""
    return soak(folder, seconds("SOAK_S", SOAK_S))


def ask_for_advisories(_: Path) -> bool:
    """Ask what is known against the packages of the locks, where anybody can be reached."""
    done = run(["make", "--no-print-directory", "audit", "AUDIT_MAY_SKIP=1", f"VENV={sys.prefix}"])
    print(f"advisories: {(done.stdout.strip().splitlines() or ['no answer'])[-1]}")
    if done.returncode:
        print(done.stdout[-4_000:], done.stderr[-4_000:])
    return done.returncode == 0


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a program of this project to its end."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


PARTS: dict[str, Callable[[Path], bool]] = {
    "attacks": run_attacks,
    "fuzz": run_fuzz,
    "soak": run_soak,
    "stores": try_stores,
    "advisories": ask_for_advisories,
}


def main() -> int:
    """Run parts, all unless some are chosen; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.nightly", description=__doc__)
    about = f"one of {', '.join(PARTS)}; all unless given"
    parser.add_argument("parts", nargs="*", metavar="PART", choices=[*PARTS, []], help=about)
    is_kept = True
    for name in parser.parse_args().parts or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)  # PostgreSQL runs as a user of its own
            is_kept = PARTS[name](Path(folder)) and is_kept
        sys.stdout.flush()
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
