"""The pages stay short enough to be read; README.md has a test of its own."""

from pathlib import Path

ROOT = Path(__file__).parents[2]

CEILINGS = {
    "docs/api.md": 3_500,
    "docs/client.md": 3_500,
    "docs/ranking.md": 3_500,
    "docs/operations.md": 3_500,
    "docs/learning.md": 2_600,
    "docs/mcp.md": 2_400,
    "docs/scale.md": 1_700,
    "SECURITY.md": 1_650,
    "docs/architecture.md": 1_300,
    "docs/cli.md": 1_700,
    "docs/configuration.md": 1_600,
    "docs/speed.md": 1_600,
    "docs/board.md": 1_400,
    "docs/evaluate.md": 1_200,
    "docs/troubleshooting.md": 1_200,
    "docs/decisions/taken-out.md": 360,  # a list, which grows
}
"""Words of long pages at most."""

OF_A_DECISION, OF_A_PAGE, OF_ALL = 300, 900, 58_000
"""Words of a page of docs/decisions, of any other page, and of all pages together at most."""

FOLDERS = (".github", "deploy", "docs", "evals", "examples", "loadtests", "service", "tests")


def test_no_page_is_longer_than_its_ceiling():
    longer = {name: count for name, count in _words().items() if count > _ceiling(name)}
    assert longer == {}, "cut something else on the page, or say it on another one"


def test_all_pages_together_stay_under_their_ceiling():
    counts = _words()
    assert sum(counts.values()) <= OF_ALL, sorted(counts.items(), key=lambda one: -one[1])[:10]


def _ceiling(name: str) -> int:
    return CEILINGS.get(name, OF_A_DECISION if "/decisions/" in name else OF_A_PAGE)


def _words() -> dict[str, int]:
    """Return the words of every page of the project, none of what is installed."""
    pages = [*ROOT.glob("*.md"), *(page for one in FOLDERS for page in (ROOT / one).rglob("*.md"))]
    pages = [page for page in pages if "node_modules" not in page.parts]
    return {str(page.relative_to(ROOT)): len(page.read_text("utf-8").split()) for page in pages}
