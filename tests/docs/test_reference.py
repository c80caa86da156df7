"""The reference pages say what the code says."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from docs.generate import commands
from docs.generate.pages import PAGES
from toolscout.server.openapi.document import document, meanings
from toolscout.settings import SETTINGS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NOTES: dict[str, dict[str, str]] = tomllib.loads(
    (DOCS / "generate" / "notes.toml").read_text("utf-8")
)


def headings(page: str) -> set[str]:
    """Return the headings of one page, as they are written."""
    text = (DOCS / page).read_text("utf-8")
    return set(re.findall(r"^#+ (.+)$", text, re.M))


def schemas() -> dict[str, Any]:
    return document()["components"]["schemas"]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_what_would_be_written_now(page: str):
    assert (DOCS / page).read_text("utf-8") == PAGES[page](), "run `make docs`"


def test_every_field_has_a_meaning():
    for name, schema in schemas().items():
        for field, described in schema.get("properties", {}).items():
            assert len(described["description"]) > 3, f"{name}.{field}"


def test_a_command_that_installs_an_extra_of_the_service_installs_the_service():
    texts = [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "deploy").rglob("*.md")]
    texts += (ROOT / "service").rglob("*.py")
    found = [
        extras.split(",")
        for path in texts
        for extras in re.findall(r"pip\s+install\s'\.\[([\w,]+)\]'", path.read_text("utf-8"))
    ]
    assert len(found) >= 8
    for extras in found:
        assert "server" in extras or set(extras) <= {"engine", "mcp", "metrics", "proxy", "yaml"}, (
            extras
        )


def test_no_note_is_of_something_that_is_gone():
    fields = {field for schema in schemas().values() for field in schema.get("properties", {})}
    fields |= {f"{n}.{field}" for n, s in schemas().items() for field in s.get("properties", {})}
    assert set(NOTES["settings"]) <= {setting.name for setting in SETTINGS}
    assert set(NOTES["commands"]) <= set(commands.commands())
    assert set(meanings()) <= fields
    assert {f"`{name}`" for name in NOTES["metrics"]} <= headings("metrics.md")


def test_the_page_of_the_api_is_short_and_begins_with_a_search():
    page = (DOCS / "api.md").read_text("utf-8")
    assert page.count("\n") <= 600
    assert page.index("## Shapes") < page.index("### SearchRequest") < page.index("### Message")
