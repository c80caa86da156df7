"""The reference pages say what the code says."""

from pathlib import Path

import pytest

from docs.generate.pages import PAGES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_what_would_be_written_now(page: str):
    assert (DOCS / page).read_text("utf-8") == PAGES[page](), "run `make docs`"
