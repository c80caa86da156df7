"""The page of the API in a browser: every call and shape, for anybody, from one host."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from tests.support import Process

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_call_opens_by_its_address_and_can_be_tried(
    browser: Browser, server: Process, width: int, scheme: str
):
    size = {"width": width, "height": 800}
    context = browser.new_context(color_scheme=scheme, viewport=size)
    tab = context.new_page()
    asked: list[str] = []
    tab.on("request", lambda each: asked.append(each.url))
    tab.goto(f"{server.url}/docs#search", wait_until="networkidle")
    call = tab.locator("#search")
    expect(call.get_by_text("curl")).to_contain_text(f"{server.url}/v1/tool-discovery/search")
    call.get_by_role("link", name="SearchRequest").click()
    expect(tab.locator("#SearchRequest")).to_contain_text("latency_budget_ms")
    assert [url for url in asked if not url.startswith(server.url)] == []
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    assert [each["id"] for each in Axe().run(tab).response["violations"]] == []
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_of_errors_is_for_anybody(
    browser: Browser, server: Process, width: int, scheme: str
):
    size = {"width": width, "height": 800}
    tab = browser.new_page(color_scheme=scheme, viewport=size)
    tab.goto(f"{server.url}/docs/errors")
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    assert [each["id"] for each in Axe().run(tab).response["violations"]] == []
    tab.close()


def test_every_call_and_every_shape_of_the_document_is_there(browser: Browser, server: Process):
    api = server.get("/openapi.json").json()
    tab = browser.new_page()
    tab.goto(f"{server.url}/docs", wait_until="networkidle")
    shown = set(tab.locator("section").evaluate_all("all => all.map(each => each.id)"))
    calls = {call["operationId"] for path in api["paths"].values() for call in path.values()}
    assert calls | api["components"]["schemas"].keys() <= shown
    links = set(tab.locator("main a").evaluate_all("all => all.map(a => a.hash.slice(1))"))
    assert links - {""} <= shown
    tab.close()
