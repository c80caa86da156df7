"""The commands that the pages tell to run."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

PAGES = sorted(
    page
    for pattern in ("SECURITY.md", "CONTRIBUTING.md", "docs/**/*.md", "deploy/**/*.md")
    for page in ROOT.glob(pattern)
)
"""All but README.md, which `test_readme.py` reads."""


def commands(page: Path) -> list[str]:
    """The commands of a page's blocks, fenced or indented; lines that go on are joined."""
    text = page.read_text("utf-8")
    blocks = re.findall(r"^```(?:sh)?\n(.*?)^```", text, re.S | re.M)
    rest = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    blocks += [
        re.sub(r"^    ", "", block, flags=re.M)
        for block in re.findall(r"(?:\n\n|\A)((?:    .+\n)+)", rest)
    ]
    joined = [line for block in blocks for line in _lines(block)]
    return [command for command in joined if _PROGRAM.match(command)]


_PROGRAM = re.compile(
    r"(?:[A-Z_]+=\S+ )*(?:\S*/)?"
    r"(curl|docker|export|for|helm|kubectl|locust|make|npx|openssl|pip|printf|python[\d.]*|source|"
    r"toolscout|uvx)\b"
)


def program(command: str) -> str:
    """The program of a command, without its folder and what is set before it."""
    found = _PROGRAM.match(command)
    assert found
    return found[1].rstrip("0123456789.")


def _lines(block: str) -> list[str]:
    """Lines of a block; one that is continued, or is inside quotes or a loop, with the next."""
    found: list[str] = []
    open_line = ""
    for line in block.splitlines():
        open_line += ("\n" if open_line else "") + line
        is_open = open_line.endswith("\\") or open_line.count("'") % 2 == 1
        is_open |= open_line.startswith("for ") and not open_line.endswith("done")
        if not is_open:
            found.append(open_line)
            open_line = ""
    return found
