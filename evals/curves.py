"""Curves as a picture (SVG) that can be read on light and dark pages."""

from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 56, 150, 16, 44
COLOURS = ("#0969da", "#bf3989", "#1a7f37", "#bc4c00", "#8250df", "#57606a")
"""Of the curves; each has enough contrast on white and on nearly black."""

STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#57606a}line{stroke:#8b949e;stroke-opacity:.35}"
    "polyline{fill:none;stroke-width:2}"
    "@media(prefers-color-scheme:dark){text{fill:#9da7b1}}"
)


def svg(at: Sequence[float], curves: Mapping[str, Sequence[float]], x: str, y: str) -> str:
    """Draw curves over common places; the vertical axis begins at 0."""
    highest = max((value for curve in curves.values() for value in curve), default=1.0)
    step = next((s for s in (1, 2, 5, 10, 20) if highest / s <= 8), 50)
    top = step * (int(highest / step) + 1)
    across, up = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(value: float) -> float:
        return round(LEFT + across * value / at[-1], 1)

    def height(value: float) -> float:
        return round(TOP + up * (1 - value / top), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{escape(y)} by {escape(x)}</title><style>{STYLE}</style>",
    ]
    for value in range(0, top + 1, step):
        level = height(value)
        parts.append(f'<line x1="{LEFT}" x2="{LEFT + across}" y1="{level}" y2="{level}"/>')
        parts.append(_text(LEFT - 8, level + 4, str(value), "end"))
    parts += [_text(place(value), TOP + up + 18, f"{value:g}", "middle") for value in at]
    parts.append(_text(LEFT + across / 2, HEIGHT - 8, x, "middle"))
    middle = TOP + up / 2
    turned = f'transform="rotate(-90 14 {middle})"'
    parts.append(_text(14, middle, y, "middle", turned))
    names = _spread({name: height(curve[-1]) for name, curve in curves.items()})
    for (name, curve), colour in zip(curves.items(), COLOURS, strict=False):
        points = [(place(a), height(value)) for a, value in zip(at, curve, strict=True)]
        line = " ".join(f"{left},{level}" for left, level in points)
        parts.append(f'<polyline points="{line}" stroke="{colour}"/>')
        parts += [f'<circle cx="{a}" cy="{b}" r="3" fill="{colour}"/>' for a, b in points]
        fill = f'style="fill:{colour}"'
        parts.append(_text(LEFT + across + 8, names[name] + 4, name, "start", fill))
    return "\n".join([*parts, "</svg>", ""])


def _spread(levels: Mapping[str, float]) -> dict[str, float]:
    """Move names apart that would overlap."""
    found: dict[str, float] = {}
    last = float("-inf")
    for name, level in sorted(levels.items(), key=lambda item: item[1]):
        last = found[name] = max(level, last + 14)
    return found


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" {more}>{escape(text)}</text>'
