"""The playground as a page: where things stand, colours, keyboard, links, and its terms.

With TOOLSCOUT_IMAGES in the environment the screenshots of the documentation are written anew.
"""

import os
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from tests.conftest import ZENITH
from tests.integration.visits import Visit, visited
from tests.support import TOOLS, Process

pytestmark = pytest.mark.integration

IMAGES = Path(__file__).parents[2] / "docs" / "images"


def test_all_of_it_works_by_keyboard(visit: Visit):
    visit.first("ci_get_log")
    keys = visit.page.keyboard
    keys.press("/")
    expect(visit.page.locator("#query")).to_be_focused()
    keys.press("Escape")
    expect(visit.page.locator("#query")).to_have_value("")
    expect(visit.page.locator(".ranker")).to_have_count(0)
    keys.type("rotate a password")
    visit.first("secrets_rotate")
    expect(visit.page.locator("#columns")).to_be_hidden()
    for key in ("ArrowDown", "ArrowRight", "ArrowDown"):
        keys.press(key)
    second = visit.page.locator("[data-ranker=bm25] .pin").nth(1)
    expect(second).to_be_focused()
    name = second.get_attribute("data-name")
    keys.press("Enter")
    expect(visit.page.locator("#kept")).to_have_text(name or "")
    keys.press("Escape")
    expect(visit.page.locator("#query")).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_in_the_way_of_anybody(browser: Browser, server: Process, scheme: str):
    size = {"width": 1280, "height": 900}
    for visit in visited(browser, server, color_scheme=scheme, viewport=size):
        visit.first("ci_get_log")
        visit.page.get_by_label("Your own").check()
        visit.paste(TOOLS)
        visit.settings()
        visit.rankers()
        visit.search("read a file", "read_file")
        found = Axe().run(visit.page).response["violations"]
        told = [(each["id"], [n["html"] for n in each["nodes"]][:3]) for each in found]
        assert told == []


def test_the_button_changes_the_colours_and_they_stay(visit: Visit):
    colour = "getComputedStyle(document.body).backgroundColor"
    before = visit.page.evaluate(colour)
    visit.page.get_by_role("button", name="Dark").click()
    dark = visit.page.evaluate(colour)
    assert dark != before
    visit.page.reload()
    assert visit.page.evaluate(colour) == dark
    visit.page.get_by_role("button", name="Light").click()
    assert visit.page.evaluate(colour) == before


@pytest.mark.parametrize("own", [False, True], ids=["sample", "own"])
@pytest.mark.parametrize(
    ("width", "height"), [(1600, 900), (1280, 800), (1024, 768), (390, 740), (360, 640)]
)
def test_the_answer_stands_right_under_the_question(
    browser: Browser, server: Process, width: int, height: int, own: bool
):
    for visit in visited(browser, server, viewport={"width": width, "height": height}):
        if own:
            visit.paste(TOOLS)
            visit.search("read a file", "read_file")
        else:
            visit.first("ci_get_log")
        box = visit.page.locator("#summary .names .name").first.bounding_box()
        assert box
        assert box["y"] + box["height"] < height


def test_a_link_brings_question_and_settings_back(visit: Visit):
    visit.first("ci_get_log")
    visit.settings()
    visit.choose_sample("Assistant")
    visit.page.get_by_role("radio", name="BM25").check()
    visit.page.locator("#top-k").fill("3")
    visit.keep("send_mail")
    visit.search("weather & forecast?", "get_weather")
    shown = visit.answer()
    visit.page.get_by_role("button", name="Copy link").click()
    expect(visit.page.locator("#copied")).to_have_text("Copied.")
    link = visit.page.evaluate("navigator.clipboard.readText()")
    visit.page.goto("about:blank")
    visit.page.goto(link)
    expect(visit.page.locator("#query")).to_have_value("weather & forecast?")
    expect(visit.page.locator("#summary .verdict")).to_contain_text("by bm25")
    expect(visit.page.locator("#kept")).to_have_text("send_mail")
    assert visit.answer() == shown
    assert "send_mail" in shown


def test_a_link_has_neither_pasted_tools_nor_the_key(visit: Visit):
    visit.paste([{"name": "launch_codes", "description": "Fetch the codes"}, *TOOLS])
    visit.settings()
    visit.page.locator("#key").fill(ZENITH)
    visit.keep("launch_codes")
    visit.search("read a file", "read_file")
    link = visit.page.url
    assert "read+a+file" in link
    assert "launch" not in link
    assert ZENITH not in link
    visit.page.reload()
    expect(visit.page.locator("#query")).to_have_value("read a file")
    expect(visit.page.locator("#loaded")).to_contain_text("No tools yet")


def test_a_term_explains_itself_on_hover_on_focus_and_on_tap(browser: Browser, server: Process):
    size = {"width": 390, "height": 740}
    for visit in visited(browser, server, viewport=size, has_touch=True):
        visit.first("ci_get_log")
        bubble = visit.page.locator("#meaning")
        expect(bubble).to_be_hidden()
        visit.page.locator("#summary .outcome").tap()
        expect(bubble).to_contain_text("Enough evidence")
        visit.page.keyboard.press("Escape")
        expect(bubble).to_be_hidden()
        visit.page.locator("#code [data-word=digest]").focus()
        expect(bubble).to_contain_text("fingerprint")
        visit.rankers()
        visit.page.locator(".ranker [data-word=cut]").first.hover()
        expect(bubble).to_contain_text("top_k")
        visit.page.locator("h1").hover()
        expect(bubble).to_be_hidden()


def test_the_rankings_stay_unfolded_while_the_page_is_open(visit: Visit):
    visit.first("ci_get_log")
    expect(visit.page.locator(".ranker").first).to_be_hidden()
    visit.rankers()
    expect(visit.page.locator(".ranker").first).to_be_visible()
    visit.search("rotate a password", "secrets_rotate")
    visit.page.get_by_label("Assistant").check()
    visit.search("will I need an umbrella tomorrow", "get_weather")
    expect(visit.page.locator(".ranker").first).to_be_visible()


def test_a_share_is_never_rounded_up_to_all(visit: Visit):
    script = "async whole => (await import('/playground/dom.js')).percent(whole - 495, whole)"
    assert visit.page.evaluate(script, 119_523) == "99.5 %"
    assert visit.page.evaluate(script, 10_000_000) == "99.9 %"
    assert visit.page.evaluate(script, 990) == "50 %"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_browser_of_the_api_has_the_colours_of_the_page(
    browser: Browser, server: Process, scheme: str
):
    for visit in visited(browser, server, color_scheme=scheme):
        visit.first("ci_get_log")
        visit.page.get_by_role("link", name="API").click()
        expect(visit.page.get_by_role("heading", name="Toolscout API")).to_be_visible()
        ink = visit.page.evaluate("getComputedStyle(document.body).color")
        assert ink == {"light": "rgb(28, 31, 30)", "dark": "rgb(236, 239, 238)"}[scheme]
        assert visit.complaints == []


@pytest.mark.parametrize(
    ("name", "width", "height", "scheme"),
    [
        ("light", 1216, 1180, "light"),
        ("dark", 1216, 1180, "dark"),
        ("phone", 360, 640, "light"),
        ("phone-dark", 360, 640, "dark"),
    ],
)
def test_it_fits_its_window(browser: Browser, server: Process, name, width, height, scheme):
    size = {"width": width, "height": height}
    for visit in visited(browser, server, viewport=size, color_scheme=scheme):
        visit.first("ci_get_log")
        assert visit.page.evaluate("document.documentElement.scrollWidth") == width
        if os.environ.get("TOOLSCOUT_IMAGES"):
            visit.page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
            visit.page.screenshot(path=IMAGES / f"playground-{name}.png", full_page=True)
        visit.rankers()
        visit.page.get_by_label("Always keep ci_cancel").first.click()
        expect(visit.page.locator("[data-ranker=hybrid] .is-pin")).to_have_count(1)
        assert visit.page.evaluate("document.documentElement.scrollWidth") == width
