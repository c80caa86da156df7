"""The figures as a Markdown table."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One line: milliseconds, requests per second, and what it is compared with."""

    what: str
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    rate: float | None = None
    cpu: float | None = None
    """Milliseconds of processor time of the serving process for each request."""
    note: str = ""


def table(rows: Sequence[Row]) -> str:
    """GitHub-flavoured Markdown."""
    lines = [
        "| what | p50 ms | p95 ms | p99 ms | requests/s | CPU ms | |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        times = map(_number, (row.p50, row.p95, row.p99))
        cells = [*times, _rate(row.rate), _number(row.cpu), row.note]
        lines.append(f"| {row.what} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _rate(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"
