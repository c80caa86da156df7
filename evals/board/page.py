"""The board as one static page: pictures, every table folded, light and dark, no scripts.

Run as a program, it writes docs/board.html anew from docs/board.json, without a measurement.
"""

import argparse
import json
from collections.abc import Sequence
from html import escape
from math import log10
from pathlib import Path

from evals.board import tables
from evals.board.tables import Board, Row
from toolscout.commands.evaluation.report import STYLE

COMMAND = "make board"
SHOWN_BY_SIZE = ("toolscout", "MiniLM", "bm25s + stemming", "ratel",
                 "chuk-tool-processor", "fastmcp BM25", "Anthropic BM25 (rebuilt)")  # fmt: skip
"""Lines that can still be told apart; the table below the picture has all."""

MORE_STYLE = """
svg{width:100%;min-width:60rem;font:13px system-ui,sans-serif}
svg text{fill:var(--fg)}svg .dim{fill:var(--dim)}svg line{stroke:var(--line)}
svg circle.ours{fill:var(--bar)}
svg polyline{fill:none;stroke:var(--dim);stroke-width:2}svg polyline.ours{stroke:var(--bar)}
svg circle{fill:var(--dim)}figure{margin:2rem 0}
td:not(:first-child),th:not(:first-child){text-align:right;white-space:nowrap}
td:first-child,th:first-child{min-width:14rem}
.bars{display:grid;grid-template-columns:auto 1fr;gap:.25rem .8rem;margin:0;
padding:0;font-size:.9rem}
.bars li{display:contents}.bars span{text-align:right;overflow-wrap:anywhere}
.bars div{display:flex;align-items:center;gap:.5rem}
.bars i{flex:none;height:1rem;max-width:80%;background:var(--dim)}.ours i{background:var(--bar)}
summary{padding:.4rem 0;cursor:pointer;font-weight:600}summary h3{display:inline;font-size:1rem}
@media(max-width:40rem){.bars{grid-template-columns:1fr;gap:0}.bars span{text-align:left}
.bars div{margin-bottom:.5rem}}
"""

LEFT, WIDTH, RIGHT, HEIGHT = 210, 520, 230, 300


def as_page(board: Board) -> str:
    """Return the page."""
    rows: list[Row] = board["rows"]
    plain, crowds = tables.sets(rows), tables.sets(rows, crowds=True)
    names = tables.selectors(rows)
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        f"<title>The board of tool selectors</title><style>{STYLE}{MORE_STYLE}</style></head>",
        '<body><nav><a href="board.md">The board in words</a></nav>',
        "<main><h1>The board of tool selectors</h1>",
        "<p>R@5 is the share of the wanted tools among the first five; every set counts the same."
        f" Sets: {escape(', '.join(plain))}. The tables say on which of them settings of Toolscout"
        f' were chosen.</p><p class="dim">Made by <code>{COMMAND}</code>.</p>',
    ]
    for column, title in (
        ("R@5", "Wanted tools among the first five"),
        ("R@5 fewest", "The same where a question shares the fewest words with its tools"),
        ("tokens", "Prompt tokens of the tools that are shown"),
        ("warm_ms", "Milliseconds of a question (median)"),
    ):
        bars = [(name, tables.mean(rows, name, plain, column)) for name in names]
        parts.append(_figure(title, _bars(column, bars)))
    if len(crowds) > 1:
        for column, title in (
            ("R@5", "Wanted tools among the first five, by the number of tools"),
            ("warm_ms", "Milliseconds of a question, by the number of tools"),
        ):
            parts.append(_figure(title, _wide(title, _lines(rows, crowds, column))))
    parts.append("<h2>Every measure of every set</h2>")
    for name in dict.fromkeys(row["set"] for row in rows):
        head, cells = tables.of_set(rows, name)
        command = f"python -m evals.board --set {name}"
        parts.append(_table(tables.heading(rows, name), head, cells, command))
    return "\n".join([*parts, "</main></body></html>\n"])


def _figure(title: str, picture: str) -> str:
    if not picture:
        return ""
    return f"<figure><h2>{escape(title)}</h2>{picture}</figure>"


def _bars(column: str, bars: Sequence[tuple[str, float | None]]) -> str:
    """Return a bar for each selector, the best first."""
    known = [(name, found) for name, found in bars if found is not None]
    best_is_most = column in (*tables.QUALITY, *tables.THIRDS)
    order = sorted(known, key=lambda bar: bar[1], reverse=best_is_most)
    most = max((found for _, found in known), default=0.0) or 1.0
    drawn = []
    for name, found in order:
        ours = ' class="ours"' if name.startswith(tables.OURS) else ""
        width = max(0.2, found / most * 80)
        drawn.append(
            f'<li{ours}><span>{escape(name)}</span><div><i style="width:{width:.1f}%"></i>'
            f"{tables.cell(column, found)}</div></li>"
        )
    return f'<ul class="bars">{"".join(drawn)}</ul>' if drawn else ""


def _lines(rows: Sequence[Row], crowds: Sequence[str], column: str) -> str:
    """Return a line for some selectors over sizes; times stand on a logarithmic scale."""
    sizes = [int(name.partition("@")[2]) for name in crowds]
    found = {
        (row["selector"], row["set"]): figure
        for row in rows
        if row["set"] in crowds and (figure := tables.value(row, column)) is not None
    }
    shown = [n for n in SHOWN_BY_SIZE if any(key[0] == n for key in found)]
    height = {key: log10(figure) if column == "warm_ms" else figure for key, figure in found.items()
              if key[0] in shown}  # fmt: skip
    low, high = min(height.values(), default=0.0), max(height.values(), default=1.0)

    def x(size: int) -> float:
        return LEFT + (log10(size) - log10(sizes[0])) / (log10(sizes[-1] / sizes[0])) * WIDTH

    def y(at: float) -> float:
        return 20 + (high - at) / (high - low or 1.0) * (HEIGHT - 60)

    drawn = [f'<line x1="{x(s):.1f}" x2="{x(s):.1f}" y1="20" y2="{HEIGHT - 40}"/>'
             f'<text class="dim" x="{x(s):.1f}" y="{HEIGHT - 20}" text-anchor="middle">{s:,}'
             f"{' tools' if s == sizes[-1] else ''}</text>" for s in sizes]  # fmt: skip
    ends: list[tuple[float, float, float, str, str]] = []
    for name in shown:
        points = [(size, n, height[name, n]) for size, n in zip(sizes, crowds, strict=True)
                  if (name, n) in height]  # fmt: skip
        ours = ' class="ours"' if name.startswith(tables.OURS) else ""
        path = " ".join(f"{x(size):.1f},{y(at):.1f}" for size, _, at in points)
        drawn.append(f'<polyline{ours} points="{path}"/>')
        drawn += [f'<circle{ours} cx="{x(s):.1f}" cy="{y(at):.1f}" r="3"/>' for s, _, at in points]
        size, crowd, at = points[-1]
        text = f"{name} {tables.cell(column, found[name, crowd])}"
        ends.append((y(at), x(size), y(at), ours, text))
    beneath = 0.0
    for at, x_end, y_end, _, text in sorted(ends):  # labels never cover each other
        beneath = max(at, beneath + 16)
        drawn.append(
            f'<line x1="{x_end:.1f}" y1="{y_end:.1f}" x2="{LEFT + WIDTH + 14}" y2="{beneath:.1f}"/>'
            f'<text x="{LEFT + WIDTH + 18}" y="{beneath + 4:.1f}">{escape(text)}</text>'
        )
    return _svg("; ".join(end[-1] for end in ends), HEIGHT, drawn)


def _svg(description: str, height: int, drawn: Sequence[str]) -> str:
    if not description:
        return ""
    return (
        f'<svg viewBox="0 0 {LEFT + WIDTH + RIGHT} {height}" role="img"'
        f' aria-label="{escape(description)}">{"".join(drawn)}</svg>'
    )


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], command: str) -> str:
    cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows
    )
    table = f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
    return (
        f"<details><summary><h3>{escape(title)}</h3></summary>{_wide(title, table)}"
        f'<p class="dim"><code>{escape(command)}</code></p></details>'
    )


def _wide(title: str, content: str) -> str:
    """Return what may be wider than a window, to be scrolled sideways."""
    region = f'<div class="wide" tabindex="0" role="region" aria-label="{escape(title)}">'
    return f"{region}{content}</div>" if content else ""


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m evals.board.page", description=__doc__).parse_args()
    DOCS = Path(__file__).parents[2] / "docs"
    measured = json.loads((DOCS / "board.json").read_text("utf-8"))
    (DOCS / "board.html").write_text(as_page(measured), "utf-8")
