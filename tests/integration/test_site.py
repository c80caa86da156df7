"""The documentation site in a browser: for anybody, on any screen, from one host."""

import re
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from docs.generate.site import PAGES, address
from tests.built_site import build

pytestmark = pytest.mark.integration


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = build(tmp_path_factory.mktemp("site"))
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("page", ["", "docs/tutorials/http/", "docs/api/"])
def test_a_page_is_for_anybody_and_asks_no_other_host(
    browser: Browser, site: str, page: str, width: int, scheme: str
):
    size = {"width": width, "height": 800}
    context = browser.new_context(color_scheme=scheme, viewport=size)
    tab = context.new_page()
    asked: list[str] = []
    tab.on("request", lambda each: asked.append(each.url))
    tab.goto(site + page, wait_until="networkidle")
    assert [url for url in asked if not url.startswith(site)] == []
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    violations = Axe().run(tab).response["violations"]
    assert [(each["id"], [n["html"] for n in each["nodes"]][:3]) for each in violations] == []
    slate = tab.locator("body").get_attribute("data-md-color-scheme") == "slate"
    assert slate == (scheme == "dark")
    context.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_code_fits_its_box_on_every_page(browser: Browser, site: str, width: int):
    tab = browser.new_page(viewport={"width": width, "height": 800})
    blocks = 0
    for path in sorted(str(each.relative_to(PAGES)) for each in PAGES.rglob("*.md")):
        name = address(path)
        tab.goto(site + name)
        wide = tab.locator(".md-typeset pre > code").evaluate_all(
            "all => all.map(each => each.scrollWidth - each.clientWidth)"
        )
        blocks += len(wide)
        assert max(wide, default=0) <= 1, name
    assert blocks > 20
    tab.close()


def test_after_a_tutorial_the_next_page_is_offered(browser: Browser, site: str):
    tab = browser.new_page(viewport={"width": 1280, "height": 800})
    tab.goto(f"{site}docs/tutorials/agent/")
    expect(tab.locator(".md-footer__link--next")).to_contain_text("Cookbook")
    expect(tab.locator(".md-footer__link--prev")).to_be_visible()
    tab.close()


@pytest.mark.parametrize(
    ("width", "scheme", "picture"),
    [
        (1280, "light", ""),
        (1280, "dark", "playground-dark.png"),
        (390, "light", "playground-phone.png"),
        (390, "dark", "playground-phone-dark.png"),
    ],
)
def test_the_picture_is_for_the_window(
    browser: Browser, site: str, width: int, scheme: str, picture: str
):
    tab = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    tab.goto(site)
    shown = tab.locator("img[src*='images/playground']").evaluate(
        "each => getComputedStyle(each).content"
    )
    assert picture in shown
    assert ("url" in shown) == bool(picture)
    tab.close()


def test_a_word_is_searched_for_and_the_colours_are_switched(browser: Browser, site: str):
    tab = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme="light")
    tab.goto(site)
    tab.get_by_title("Switch to dark colours").click()
    expect(tab.locator("body")).to_have_attribute("data-md-color-scheme", "slate")
    query = tab.get_by_role("textbox", name="Search")
    query.click()
    expect(tab.locator(".md-search-result__meta")).to_have_text("Type to start searching")
    query.press_sequentially("circuit_open")
    tab.locator(".md-search-result__item").first.get_by_role("link").first.click()
    expect(tab).to_have_url(re.compile(r"/docs/client/\?h="))
    tab.close()
