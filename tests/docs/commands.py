"""The commands that the pages tell to run."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def commands(page: Path) -> list[str]:
    """Return the commands of a page's blocks, fenced or indented; continued lines are joined."""
    text = page.read_text("utf-8")
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", text, re.S | re.M)
    blocks = [block for language, block in fenced if language in ("", "sh")]
    rest = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    blocks += [
        re.sub(r"^    ", "", block, flags=re.M)
        for block in re.findall(r"(?:\n\n|\A)((?:    .+\n)+)", rest)
    ]
    return [line for block in blocks for line in _lines(block)]


def toolscout_commands() -> list[str]:
    """Every command of Toolscout in the pages."""
    pages = [ROOT / "SECURITY.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*.md")]
    ours = re.compile(r"(?:[A-Z_]+=\S+ )*(?:\S*/)?toolscout ")
    return sorted({line for page in pages for line in commands(page) if ours.match(line)})


def _lines(block: str) -> list[str]:
    """Lines of a block; one that is continued, or is inside quotes or a loop, with the next."""
    found: list[str] = []
    open_line = ""
    for line in block.splitlines():
        open_line += ("\n" if open_line else "") + line
        is_open = open_line.endswith("\\") or open_line.count("'") % 2 == 1
        is_open |= open_line.startswith("for ") and not open_line.endswith("done")
        if not is_open:
            found.append(open_line.replace("\\\n", ""))
            open_line = ""
    return found
