"""The reference pages say what the code says."""

from pathlib import Path
from typing import Any

import pytest

from docs.generate.pages import PAGES
from toolscout.server.openapi.document import make_document

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_what_would_be_written_now(page: str):
    assert (DOCS / page).read_text("utf-8") == PAGES[page](), "run `make docs`"


def schemas() -> dict[str, Any]:
    return make_document()["components"]["schemas"]


def test_every_field_has_a_meaning():
    for name, schema in schemas().items():
        for field, described in schema.get("properties", {}).items():
            assert len(described["description"]) > 3, f"{name}.{field}"


def test_the_page_of_the_api_begins_with_a_search():
    page = (DOCS / "api.md").read_text("utf-8")
    assert page.index("## Shapes") < page.index("### SearchRequest") < page.index("### Message")
