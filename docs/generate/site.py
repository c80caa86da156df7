"""Gather the pages and files that the site consists of, where mkdocs.yml looks for them.

They keep their places, so that links hold on the site as they do beside the code.
"""

import argparse
import os
import posixpath
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config import load_config

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "build" / "pages"
CONFIGURATION = ROOT / "mkdocs.yml"

THEME = (
    "docs/stylesheets/extra.css",
    "docs/scripts/reachable.js",
    "docs/images/playground-dark.png",
    "docs/images/playground-phone.png",
    "docs/images/playground-phone-dark.png",
    "service/toolscout/playground/static/icon.svg",
)

FENCE = re.compile(r"^```.*?^```", re.S | re.M)
LINK = re.compile(r"(?<=\]\()([^)\s#]+)(?=[)#])")
MERMAID = re.compile(r"^```mermaid\n.*?^```$", re.S | re.M)

NO_TEXT = re.compile(r"[#<|!-]|\[!|    ")
"""How a block begins that is a heading, a table, a list, a picture or code."""

SHORTEST_SUMMARY = 50
"""Characters; shorter texts only introduce the code below them."""


def gather() -> None:
    """Copy README.md, docs/ and all that they lead to, and write llms.txt."""
    shutil.rmtree(PAGES, ignore_errors=True)
    waiting = {"README.md", *THEME}
    waiting |= {str(file.relative_to(ROOT)) for file in (ROOT / "docs").rglob("*.md")}
    done: set[str] = set()
    while waiting - done:
        path = min(waiting - done)
        done.add(path)
        target = PAGES / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(".md"):
            text = page(path)
            target.write_text(text, "utf-8")
            waiting |= set(links(path, text))
        else:
            shutil.copyfile(ROOT / path, target)
    (PAGES / "llms.txt").write_text(llms(), "utf-8")


def page(path: str) -> str:
    """Return a page as the site has it; a folder without one gets a list of its files."""
    file = ROOT / path
    if file.name == "README.md" and not file.exists():
        files = sorted(each.relative_to(file.parent) for each in file.parent.rglob("*.*"))
        names = [str(each) for each in files if "__pycache__" not in each.parts]
        return "\n".join([f"# {file.parent.name}", "", *(f"- [{name}]({name})" for name in names)])
    text = file.read_text("utf-8")

    def to_page(link: re.Match[str]) -> str:
        is_folder = "://" not in link[0] and (file.parent / link[0]).is_dir()
        return f"{link[0].rstrip('/')}/README.md" if is_folder else link[0]

    return MERMAID.sub(without_mermaid, LINK.sub(to_page, text))


def links(path: str, text: str) -> Iterator[str]:
    """Find the files of the repository that a page links to."""
    for target in LINK.findall(FENCE.sub("", text)):
        if "://" not in target and not target.startswith("mailto:"):
            yield posixpath.normpath(posixpath.join(posixpath.dirname(path), target))


def navigation() -> list[Any]:
    """Return the sections of mkdocs.yml, each with its pages by title."""
    return load_config(str(CONFIGURATION)).nav or []


def listed(entries: Any) -> Iterator[tuple[str, str]]:
    """Walk the titles and paths of the pages in a part of the navigation."""
    for entry in entries:
        for title, below in entry.items():
            if isinstance(below, str):
                yield title, below
            else:
                yield from listed(below)


def llms() -> str:
    """Return llms.txt, the site's index for language models, by the form of llmstxt.org."""
    root = os.environ.get("SITE_URL", "")
    parts = [f"# Toolscout\n\n> {summary('README.md')}"]
    for entry in navigation():
        for heading, below in entry.items():
            lines = [f"## {heading}", ""]
            for title, path in listed(below):
                lines.append(f"- [{title}]({root + address(path) or './'}): {summary(path)}")
            parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def address(path: str) -> str:
    """Return where a page is below the site's root."""
    folder = path.removesuffix(".md").removesuffix("README")
    return f"{folder.rstrip('/')}/" if folder else ""


def summary(path: str) -> str:
    """Return the first sentence of a page that says something, without its markup."""
    blocks = FENCE.sub("", (PAGES / path).read_text("utf-8")).split("\n\n")
    texts = (" ".join(block.split()) for block in blocks if not NO_TEXT.match(block))
    text = next(text for text in texts if len(text) >= SHORTEST_SUMMARY)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).removeprefix("**Decision.** ")
    sentence = re.split(r"(?<=[.?])\s+(?=[A-Z`*])", text)[0].replace("**", "")
    return re.sub(":$", ".", sentence)


def without_mermaid(block: re.Match[str]) -> str:
    """Return a diagram as a table, for what draws it would come from another host."""
    arrows: dict[str, list[str]] = {}
    for above, below in re.findall(r"^ +(\w+) --> (\w+)$", block[0], re.M):
        arrows.setdefault(above, []).append(f"`{below}`")
    rows = [f"| `{above}` | {', '.join(below)} |" for above, below in arrows.items()]
    return "\n".join(["| room | imports from |", "|---|---|", *rows])


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m docs.generate.site", description=__doc__).parse_args()
    gather()
