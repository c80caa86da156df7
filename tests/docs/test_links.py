"""Links between the pages lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

ALL = sorted(
    page.relative_to(ROOT)
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "deploy/**/*.md",
        "service/**/README.md",
        "skills/**/*.md",
    )
    for page in ROOT.glob(pattern)
)


@pytest.mark.parametrize("page", ALL, ids=str)
def test_links_within_the_project_lead_somewhere(page: Path):
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text("utf-8"), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        found = (ROOT / page).parent / path if path else ROOT / page
        assert found.exists(), target
        if anchor and found.suffix == ".md":
            assert anchor in anchors(found), target


def anchors(page: Path) -> set[str]:
    """Return what GitHub makes of a page's headings."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.S)
    written = re.findall(r"^#+ (.+)$", text, re.M)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in written)
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def test_the_index_leads_to_every_page():
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    book = ROOT / "docs" / "cookbook" / "README.md"
    index += book.read_text("utf-8").replace("](", "](cookbook/")
    pages = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").glob("**/*.md")}
    assert [str(p) for p in pages if str(p) not in ("README.md",) and f"]({p})" not in index] == []


@pytest.mark.parametrize("asking", ["operators", "authors of proxies, agents and MCP hosts"])
def test_each_question_leads_to_the_section_that_answers(asking: str):
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    table = index.partition(f"What {asking} ask:\n\n| | |\n|---|---|\n")[2].partition("\n\n")[0]
    rows = table.splitlines()
    assert len(rows) > 10
    assert [row for row in rows if "](" not in row or ".md)" in row] == []  # each with an anchor
