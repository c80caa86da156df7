"""Replay all attacks and print what each did to others."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.attacks.replay import attacks, broken, replay
from tests.attacks.stalls import LIMIT_UNITS

HEAD = (
    f"{'attack':44} {'stall ms':>9} {'units':>6} {'base MiB':>9} {'most MiB':>9} "
    f"{'others':>8} {'probes lost':>6}"
)

TRIES = 3
"""Runs of an attack of which the best counts, because the machine may be busy with others."""


def main(only: str = "") -> int:
    """Print the table; returns 1 where a promise was broken. Words choose attacks by name."""
    data = os.environ.get("TOOLSCOUT_DATA")
    catalogs = Path(data) / "catalogs" if data else None
    print(HEAD)
    failed = 0
    for attack in attacks(catalogs):
        if only not in attack.name:
            continue
        for _ in range(TRIES):
            with tempfile.TemporaryDirectory() as folder:
                seen = replay(attack, Path(folder))
            promises = broken(attack, seen, LIMIT_UNITS)
            if not promises:
                break
        print(
            f"{attack.name:44} {1_000 * seen.longest_s:9.0f} {seen.stall_units:6.1f} "
            f"{seen.base_mib:9.0f} {seen.rss_mib:9.0f} {100 * seen.share:7.1f}% "
            f"{seen.failed_probes:6}",
            flush=True,
        )
        for promise in promises:
            print(f"  broken: {promise}", flush=True)
            failed = 1
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument("word", nargs="*", help="only attacks whose names have these words")
    sys.exit(main(" ".join(parser.parse_args().word)))
