"""README.md as an index of packages shows it."""

import pytest

from hatch_build import render_for_index
from tests.package_page import find_relative
from tests.readme import TEXT

PLACE = "https://git.example.org/them/toolscout"

PAGE = """
[![A picture](docs/one.webp)](docs/page.md)

See [all](docs/README.md#first) and [theirs](https://example.org/a), [below](#below), ![two](b.png).

```python
tools[0](docs)
```
"""


def test_links_of_the_readme_lead_to_the_repository_at_the_tag():
    page = render_for_index(PAGE, PLACE, "v1.2.3")
    assert f"({PLACE}/raw/v1.2.3/docs/one.webp)]({PLACE}/blob/v1.2.3/docs/page.md)" in page
    assert f"[all]({PLACE}/blob/v1.2.3/docs/README.md#first)" in page
    assert f"![two]({PLACE}/raw/v1.2.3/b.png)" in page
    assert "[theirs](https://example.org/a), [below](#below)" in page
    assert "\ntools[0](docs)\n" in page


def test_without_an_address_only_the_texts_of_links_are_left():
    page = render_for_index(PAGE, "", "v1.2.3")
    assert "one.webp" not in page
    assert "See all and [theirs](https://example.org/a), [below](#below)" in page
    assert "\ntools[0](docs)\n" in page


@pytest.mark.parametrize("place", [PLACE, ""], ids=["with an address", "without"])
def test_the_readme_has_no_relative_link_on_an_index(place: str):
    assert list(find_relative(render_for_index(TEXT, place, "v1.2.3"))) == []


@pytest.mark.parametrize(
    "text",
    [
        "[a](docs/a.md)",
        "![a](a.png)",
        "[a][1]\n\n[1]: docs/a.md",
        '<img src="a.png">',
        "[![a](https://example.org/a.png)](docs/a.md)",
        "| [a](docs/a.md) |\n|---|\n| b |",
    ],
)
def test_a_relative_link_is_found_however_it_is_written(text: str):
    assert len(list(find_relative(text))) == 1
