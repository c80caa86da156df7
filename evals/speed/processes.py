"""The processes of a service, its worker included, and their memory."""

from contextlib import suppress
from pathlib import Path


def below(process: int) -> list[int]:
    """Return the processes below one, its own children first."""
    found: list[int] = []
    with suppress(OSError):  # it has ended, as a thread of it may have
        for path in Path(f"/proc/{process}/task").glob("*/children"):
            with suppress(OSError):
                found += map(int, path.read_text().split())
    return found + [each for child in found for each in below(child)]


def resident_mib(process: int) -> float:
    """Return the resident memory of a process and all below; what they share counts for each."""
    return sum(figure(each, "status", "VmRSS") for each in (process, *below(process)))


def own_mib(process: int) -> float:
    """Return the resident memory of a process without those below."""
    return figure(process, "status", "VmRSS")


def proportional_mib(process: int) -> float:
    """Return the same; what they share counts once. It walks all their pages."""
    return sum(figure(each, "smaps_rollup", "Pss") for each in (process, *below(process)))


def figure(process: int, file: str, name: str) -> float:
    """Return a figure in MiB from a file of `/proc`; 0 once the process has ended."""
    try:
        lines = Path(f"/proc/{process}/{file}").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1_024
