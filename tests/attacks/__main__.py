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


def main(only: str = "") -> int:
    """Print the table; returns 1 where a promise was broken. Words choose attacks by name."""
    data = os.environ.get("TOOLSCOUT_DATA")
    catalogs = Path(data) / "catalogs" if data else None
    print(HEAD)
    failed = 0
    for attack in attacks(catalogs):
        if only not in attack.name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            seen = replay(attack, Path(folder))
        print(
            f"{attack.name:44} {1_000 * seen.longest_s:9.0f} {seen.stall_units:6.1f} "
            f"{seen.base_mib:9.0f} {seen.rss_mib:9.0f} {100 * seen.share:7.1f}% "
            f"{seen.failed_probes:6}",
            flush=True,
        )
        for promise in broken(attack, seen, LIMIT_UNITS):
            print(f"  broken: {promise}", flush=True)
            failed = 1
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument("word", nargs="*", help="only attacks whose names have these words")
    sys.exit(main(" ".join(parser.parse_args().word)))
