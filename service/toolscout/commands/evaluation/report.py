"""A verdict as text for a terminal, and as one self-contained page."""

import re
from collections.abc import Sequence
from html import escape

from toolscout.commands.evaluation.judging import REASONS, Verdict
from toolscout.common.counted import write_count

MAX_MISSES = 10
"""Misses and tools that the text shows; the page and the JSON have all of them."""

STYLE = """
:root{color-scheme:light dark;--fg:#1f2328;--dim:#57606a;--bar:#0969da;--line:#d0d7de;--bg:#fff}
@media(prefers-color-scheme:dark){:root{--fg:#e6edf3;--dim:#9da7b1;--bar:#4493f8;--line:#30363d;
--bg:#0d1117}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--fg);background:var(--bg);max-width:62rem;
margin:2rem auto;padding:0 1rem}
h1,h2{line-height:1.2}p.said{font-size:1.4rem}h2{margin-top:2.5rem}p.dim,td.dim{color:var(--dim)}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.4rem .6rem;
border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:break-word}
td.number,th.number{text-align:right;white-space:nowrap}
.bar{display:block;height:.8rem;background:var(--bar);min-width:1px}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(11rem,1fr));gap:1rem}
dt{color:var(--dim)}dd{margin:0;font-size:1.8rem}.wide{overflow-x:auto}
@media(max-width:48rem){.stacked thead{position:absolute;width:1px;height:1px;overflow:hidden;
clip-path:inset(50%)}.stacked tr{display:block;padding:.6rem 0;border-bottom:1px solid var(--line)}
.stacked td{display:block;padding:.1rem 0;border:0;overflow-wrap:anywhere}
.stacked td::before{content:attr(data-head) ": ";color:var(--dim)}}
"""

LONG_NAME = re.compile(r"\S{25,}")
JOINT = re.compile(r"([_./:-]+)")
"""Where a long name may be broken between lines."""


def write_money(tokens: float, price: float) -> str:
    """Return what tokens cost, at a price per million."""
    return f"${tokens * price / 1e6:.4f}"


def write_sentence(verdict: Verdict) -> str:
    """Return in a sentence what came of the questions."""
    asked = verdict.questions - verdict.impossible
    parts = []
    if asked:
        nothing = round(verdict.no_match * asked)
        parts.append(f"{verdict.found:,} of {asked:,} found")
        parts += [f"{nothing:,} answered with nothing"] if nothing else []
    if verdict.refused is not None:
        refused = round(verdict.refused * verdict.impossible)
        parts.append(f"{refused:,} of {verdict.impossible:,} unanswerable ones refused")
    return "; ".join(parts) + "."


def write_headline(verdict: Verdict) -> list[tuple[str, str]]:
    """Return the figures that count most, each with its title."""
    figures = [(f"R@{k}", f"{value:.3f}") for k, value in verdict.recall.items()]
    figures += [(f"nDCG@{verdict.top_k}", f"{verdict.ndcg:.3f}")]
    figures += [("first one right", f"{verdict.first_right:.1%}")]
    figures += [("nothing selected", f"{verdict.no_match:.1%}")]
    if verdict.refused is not None:
        figures.append(("unanswerable ones refused", f"{verdict.refused:.1%}"))
    return figures


def write_savings(verdict: Verdict, price: float | None) -> str:
    """Return in a sentence what a request costs with all tools, and with those shown."""
    before = verdict.tokens_all
    after = verdict.tokens_shown
    share = 1 - after / before if before else 0.0
    text = f"{before:,} tokens for all tools, {after:,.0f} for those shown ({share:.0%} less)"
    if price is None:
        return text
    return f"{text}: {write_money(before, price)} and {write_money(after, price)} a request"


def as_text(verdict: Verdict, price: float | None) -> str:
    """Return the verdict in words, with the first misses."""
    about = f"{write_count(verdict.questions, 'question')}, {write_count(verdict.tools, 'tool')}"
    lines = [f"{about}: {write_sentence(verdict)}"]
    lines += [f"  {title:<24} {value}" for title, value in write_headline(verdict)]
    lines += [
        "",
        write_savings(verdict, price),
        "",
        f"R@{verdict.top_k} where question and tools have",
    ]
    lines += [
        f"  {part.overlap:<28} {part.recall:.3f}  ({write_count(part.questions, 'question')})"
        for part in verdict.overlap
    ]
    if verdict.misses:
        lines += ["", f"{len(verdict.misses):,} wanted tools were not shown:"]
        lines += [f"  {count:>5}  {REASONS[why]}" for why, count in verdict.why.items()]
        lines += ["", "tools that were missed most (missed of wanted):"]
        lines += [
            f"  {name}  {missed} of {wanted}"
            for name, wanted, missed in verdict.worst_tools[:MAX_MISSES]
        ]
        lines += ["", "misses:"]
        for miss in verdict.misses[:MAX_MISSES]:
            place = f", at {miss.rank}" if miss.rank else ""
            lines += [f"  {miss.query[:100]!r} wants {miss.wanted} ({miss.why}{place})"]
            lines += [f"      shown: {', '.join(miss.shown) or 'nothing'}"]
        rest = len(verdict.misses) - MAX_MISSES
        lines += [f"  and {rest:,} more: --html FILE or --json"] if rest > 0 else []
    return "\n".join(lines)


def as_page(verdict: Verdict, price: float | None, title: str) -> str:
    """Return the verdict as a page without scripts; every text of tools is escaped."""
    figures = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, value in write_headline(verdict)
    )
    recall = [(f"first {k}", value, f"{value:.3f}") for k, value in verdict.recall.items()]
    parts = [
        (f"{part.overlap} ({part.questions})", part.recall, f"{part.recall:.3f}")
        for part in verdict.overlap
    ]
    most = float(verdict.tokens_all or 1)
    tokens = [
        ("all tools", 1.0, f"{verdict.tokens_all:,}"),
        ("shown", verdict.tokens_shown / most, f"{verdict.tokens_shown:,.0f}"),
    ]
    whys = sum(verdict.why.values()) or 1
    reasons = [(REASONS[why], count / whys, f"{count:,}") for why, count in verdict.why.items()]
    asked = write_count(verdict.questions, "question")
    offered = write_count(verdict.tools, "tool")
    misses = [
        (miss.query, miss.wanted, ", ".join(miss.shown) or "nothing", REASONS[miss.why],
         str(miss.rank or "–"))
        for miss in verdict.misses
    ]  # fmt: skip
    worst = [(name, f"{missed} of {wanted}") for name, wanted, missed in verdict.worst_tools]
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main>",
            f"<h1>{escape(title)}</h1>",
            f'<p class="said">{escape(write_sentence(verdict))}</p>',
            f'<p class="dim">{asked} over {offered};'
            f" at most {verdict.top_k} are shown.</p><dl>{figures}</dl>",
            _draw_bars("Wanted tools among the shown", "shown", recall),
            _draw_bars(
                "The same, by words that the question shares with its tools", "words", parts
            ),
            _draw_bars("Prompt tokens of a request", "tools", tokens),
            f"<p>{escape(write_savings(verdict, price))}</p>",
            _draw_bars("Why tools were missed", "reason", reasons),
            _draw_table("Tools that were missed", ("tool", "missed of wanted"), worst),
            _draw_table("Misses", ("question", "wanted", "shown instead", "why", "place"), misses),
            "</main></body></html>\n",
        ]
    )


def _draw_bars(title: str, head: str, rows: Sequence[tuple[str, float, str]]) -> str:
    if not rows:
        return ""
    body = "".join(
        f'<tr><td>{escape(name)}</td><td class="number">{escape(value)}</td><td style="width:50%">'
        f'<span class="bar" style="width:{max(0.0, min(1.0, share)):.1%}"></span></td></tr>'
        for name, share, value in rows
    )
    return (
        f"<h2>{escape(title)}</h2><table><thead><tr><th>{escape(head)}</th>"
        f'<th class="number">value</th><th>share</th></tr></thead><tbody>{body}</tbody></table>'
    )


def _draw_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{_draw_cells(head, row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
    region = f'<div class="wide stacked" tabindex="0" role="region" aria-label="{escape(title)}">'
    return f"<h2>{escape(title)}</h2>{region}{table}</div>"


def _draw_cells(head: Sequence[str], row: Sequence[str]) -> str:
    """Return cells that name their column, for windows in which they stand below each other."""
    return "".join(
        f'<td data-head="{escape(name)}">{_make_breakable(cell)}</td>'
        for name, cell in zip(head, row, strict=True)
    )


def _make_breakable(text: str) -> str:
    return LONG_NAME.sub(lambda name: JOINT.sub(r"\1<wbr>", name[0]), escape(text))
