"""The documentation site builds, holds together and asks no other host."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from docs.generate import site
from tests.built_site import build

LOADING = {"script": "src", "img": "src", "source": "src", "iframe": "src", "use": "href"}
ROOT = Path(__file__).parents[2]


class Page(HTMLParser):
    """What a page links to, loads, and can be linked to by."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors = {""}
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and not {"canonical", "prev", "next"} & set(values["rel"].split()):
            self.loaded.append(values["href"])
        if tag in LOADING and LOADING[tag] in values:
            self.loaded.append(values[LOADING[tag]])
        self.loaded += re.findall(r"url\(([^)]+)\)", values.get("style", ""))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def pages(built: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in built.rglob("*.html")}


def targets(built: Path, page: Path, links: list[str]) -> Iterator[tuple[Path, str]]:
    """Return the files and anchors that the links of a page within the site lead to."""
    for link in links:
        address = urlsplit(link)
        if address.scheme or address.netloc:
            continue
        start = built if address.path.startswith("/") else page.parent
        path = (start / unquote(address.path).lstrip("/")).resolve() if address.path else page
        yield path / "index.html" if path.is_dir() else path, unquote(address.fragment)


def test_every_link_leads_somewhere(built: Path, pages: dict[Path, Page]):
    broken = [
        (str(path.relative_to(built)), str(target), anchor)
        for path, page in pages.items()
        for target, anchor in targets(built, path, page.links)
        if not target.is_file() or (target in pages and anchor not in pages[target].anchors)
    ]
    assert broken == []


def test_nothing_is_loaded_from_another_host(built: Path, pages: dict[Path, Page]):
    loaded = [each for page in pages.values() for each in page.loaded]
    assert [each for each in loaded if "//" in each] == []
    styles = "".join(path.read_text("utf-8") for path in built.rglob("*.css"))
    assert re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//[^)]*", styles) == []
    for path, page in pages.items():
        assert all(target.is_file() for target, _ in targets(built, path, page.loaded)), path


def test_the_navigation_has_every_page():
    documents = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")}
    listed = [path for _, path in site.listed(site.navigation())]
    assert documents - set(listed) == set()
    assert len(listed) == len(set(listed))


def test_language_models_get_a_line_for_each_page(built: Path):
    text = (built / "llms.txt").read_text("utf-8")
    assert re.match(r"# Toolscout\n\n> \w.+\n\n## Start\n\n", text)
    lines = re.findall(r"^- \[(.+?)\]\((.*?)\): (.+)$", text, re.M)
    entries = list(site.listed(site.navigation()))
    assert [title for title, _, _ in lines] == [title for title, _ in entries]
    assert all((built / address / "index.html").is_file() for _, address, _ in lines)
    assert all(summary.endswith((".", "?", ")")) for _, _, summary in lines)
