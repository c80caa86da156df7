"""The playground in a real browser: Debian's Chromium, driven by Playwright.

With TOOLSCOUT_IMAGES in the environment the screenshots of the documentation are written anew.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect, sync_playwright

from tests import debian
from tests.catalogs import SHAPES, in_shape
from tests.conftest import ZENITH
from tests.integration.visits import Visit, visited
from tests.support import TOOLS, Server, crowd, environment, running
from toolscout.settings import MIB
from toolscout.tools.files import read_file

pytestmark = pytest.mark.integration

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    debian.need(chromium="chromium")
    with sync_playwright() as playwright:
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        launched = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=flags)
        yield launched
        launched.close()


@pytest.fixture
def visit(browser: Browser, server: Server) -> Iterator[Visit]:
    yield from visited(browser, server, viewport={"width": 1280, "height": 900})


def test_a_first_look_shows_an_answer_and_asks_nobody_else(visit: Visit):
    visit.first("ci_get_log")
    expect(visit.page.locator("#summary .outcome")).to_have_text("match")
    assert visit.answer() == visit.ranking("hybrid")
    assert visit.page.locator(".ranker").count() == 4
    asked = [url for url in visit.requests if not url.startswith("data:")]
    assert all(url.startswith(visit.server.url + "/") for url in asked)
    assert visit.complaints == []


def test_pasted_tools_are_ranked_explained_and_cut_as_the_service_says(visit: Visit):
    visit.paste(TOOLS)
    visit.settings()
    visit.page.locator("#top-k").fill("2")
    visit.ask("find the file with the code on disk")
    visit.first("read_file")
    for ranker in ("hybrid", "bm25", "semantic", "regex"):
        fields = {"ranker": ranker, "explain": True, "top_k": 2}
        said = visit.server.search("find the file with the code on disk", **fields).json()
        assert visit.ranking(ranker) == said["selected_names"]
        wider = visit.server.names("find the file with the code on disk", ranker=ranker, top_k=8)
        assert visit.ranking(ranker, ".cut") == wider[2:]
    score = visit.page.locator("[data-ranker=regex] .score").first.inner_text()
    assert score.endswith(f"{said['matches'][0]['score']:.2f}")
    reasons = visit.page.locator("[data-ranker=hybrid] .reasons").first.inner_text()
    assert "file keyword" in reasons
    assert "meaning" in reasons
    assert visit.complaints == []


def test_an_answer_is_as_short_and_as_bare_as_asked(visit: Visit):
    schema = {"type": "object", "properties": {"customer_id": {}}, "required": ["customer_id"]}
    bill = {"name": "create_invoice", "description": "Write an invoice", "parameters": schema}
    find = {"name": "search_customers", "description": "Look people up in the directory"}
    visit.paste([bill, find, *TOOLS])
    visit.ask("write an invoice over forty euros")
    visit.first("create_invoice")
    assert "search_customers" in visit.ranking("hybrid")
    visit.settings()
    visit.page.get_by_label("With prerequisites").uncheck()
    expect(visit.page.locator("[data-ranker=hybrid] .name", has_text="search_")).to_have_count(0)
    visit.page.get_by_label("As few as needed").check()
    expect(visit.page.locator("[data-ranker=hybrid] .ranking:not(.cut) .name")).to_have_count(1)


def test_tools_are_sent_once_and_again_when_the_service_forgot_them(
    browser: Browser, tmp_path: Path
):
    sent: list[str] = []
    with running(tmp_path, "--cache-bytes", str(MIB)) as server:
        for visit in visited(browser, server):
            visit.first("ci_get_log")
            visit.page.on("request", lambda request: sent.append(request.post_data or ""))
            visit.paste(TOOLS)
            visit.ask("read a file")
            visit.first("read_file")
            visit.ask("forecast for a city")
            visit.first("get_weather")
            assert sum('"tools":' in body for body in sent) == 1
            digest = json.loads(sent[-1])["catalog"]
            for number in range(30):
                server.search(tools=crowd(40, f"push{number}"))
            assert server.search(catalog=digest).status_code == 404
            visit.ask("send a message")
            visit.first("send_email")
            assert sum('"tools":' in body for body in sent) == 2


def test_a_star_pins_a_tool_in_every_ranking(visit: Visit):
    visit.first("ci_get_log")
    visit.settings()
    visit.page.locator("#keep").fill("secrets_get")
    visit.page.locator("#keep").press("Enter")
    expect(visit.page.locator("[data-ranker=hybrid] .is-pin")).to_have_count(1)
    for ranker in ("hybrid", "bm25", "semantic", "regex"):
        assert visit.ranking(ranker)[-1] == "secrets_get"
    visit.page.get_by_role("button", name="Keep secrets_get no longer").click()
    expect(visit.page.locator(".is-pin")).to_have_count(0)


@pytest.mark.parametrize("button", ["Copy as curl", "… by digest"])
def test_the_copied_curl_gives_the_same_names(visit: Visit, button: str):
    odd = [{"name": "it's_$HOME", "description": "Quote `this` \"and\" \\ 'that'\nJSON\n"}]
    visit.paste(TOOLS + odd)
    visit.ask("it's a $(quote) of 'that'")
    visit.first("it's_$HOME")
    visit.page.get_by_role("button", name=button).click()
    expect(visit.page.locator(".copying [role=status]")).to_have_text("Copied.")
    command = visit.page.evaluate("navigator.clipboard.readText()")
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, env=environment(), check=True
    )
    assert json.loads(done.stdout)["selected_names"] == visit.ranking("hybrid")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"name": "a"},\n {"name" "b"}]', 'line 2, column 10: expected ":"'),
        ('[{"name": "a"}', "line 1, column 15: expected"),
        ('[{"name": "a", "descr', "line 1, column 16: the string that begins here has no closing"),
        ('[{"name": "a\nb"}]', "line 1, column 11: the string that begins here has no closing"),
        ('[{"name": "a\tb"}]', "line 1, column 13: a tab or control character cannot stand"),
        ('[{"name": "a\\xb"}]', 'line 1, column 13: "\\x" cannot stand in a string'),
        ("nonsense", "line 1, column 1: expected a value"),
        ('{"things": []}', 'expected a list of tools, or an object with "tools"'),
        ('[{"description": "x"}]', 'tools[0]: expected a "name"'),
        ("[]", "the list of tools is empty"),
    ],
)
def test_text_that_holds_no_tools_says_where_and_what(visit: Visit, text: str, message: str):
    visit.paste(text)
    expect(visit.page.locator("#fault")).to_contain_text(message)
    expect(visit.page.locator("#loaded")).to_have_text("No tools.")
    visit.shows_nothing()
    visit.page.locator("#paste").fill(json.dumps(TOOLS))
    expect(visit.page.locator("#fault")).to_be_hidden()


def test_files_are_read_as_the_command_line_reads_them(visit: Visit, tmp_path: Path):
    shapes = [s for s in SHAPES if s != "bare_schema"]
    tools = [in_shape(shape, f"tool_{shape}", "Rain", SCHEMA) for shape in shapes]
    contents: list[Any] = [
        tools,
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}},
        {"pattern": "x", "tools": TOOLS},
        {"toolConfig": {"tools": [{"toolSpec": tool} for tool in TOOLS]}},
        {"tools": [{"functionDeclarations": TOOLS}]},
        [{"type": "web_search"}, {"googleSearch": {}}, *TOOLS],
    ]
    script = "async text => (await import('/playground/tools.js')).readTools(text)"
    for content in contents:
        path = tmp_path / "tools.json"
        path.write_text(json.dumps(content), "utf-8")
        digests = [
            visit.server.search(tools=read).headers["x-catalog-digest"]
            for read in (visit.page.evaluate(script, path.read_text()), wire(path))
        ]
        assert digests[0] == digests[1]


def wire(path: Path) -> list[dict[str, Any]]:
    """What the command line makes of a file, as JSON."""
    tools: list[dict[str, Any]] = json.loads(msgspec.json.encode(read_file(path)))
    return tools


def test_a_chosen_file_is_searched(visit: Visit, tmp_path: Path):
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"tools": TOOLS}), "utf-8")
    visit.page.get_by_label("Your own").check()
    visit.page.locator("#file").set_input_files(path)
    visit.ask("forecast for a city")
    visit.first("get_weather")


def test_a_dropped_file_is_searched(visit: Visit):
    visit.first("ci_get_log")
    script = """text => {
        const data = new DataTransfer();
        data.items.add(new File([text], "tools.json"));
        return data;
    }"""
    dropped = visit.page.evaluate_handle(script, json.dumps({"tools": TOOLS}))
    visit.page.dispatch_event("body", "drop", {"dataTransfer": dropped})
    visit.ask("forecast for a city")
    visit.first("get_weather")


def test_a_service_with_keys_asks_for_one(browser: Browser, keyed: Server):
    for visit in visited(browser, keyed):
        problem = visit.page.locator("#problem")
        expect(problem).to_contain_text("unauthorized")
        expect(problem.locator("code").nth(1)).not_to_be_empty()
        expect(visit.page.locator("#settings")).to_have_attribute("open", "")
        visit.page.locator("#key").fill(ZENITH)
        visit.first("ci_get_log")
        expect(problem).to_be_hidden()
        visit.page.get_by_role("button", name="Copy as curl").click()
        expect(visit.page.locator(".copying [role=status]")).to_contain_text("API_KEY")
        assert ZENITH not in visit.page.evaluate("navigator.clipboard.readText()")


def test_a_service_that_is_gone_is_told_of(browser: Browser, tmp_path: Path):
    with running(tmp_path) as server:
        for visit in visited(browser, server):
            visit.first("ci_get_log")
            server.process.terminate()
            server.wait()
            visit.ask("anything else")
            expect(visit.page.locator("#problem")).to_contain_text("does not answer")


def test_a_thousand_tools_are_typed_over_without_lag(visit: Visit):
    visit.page.evaluate(
        "window.long = []; new PerformanceObserver(list => long.push(...list.getEntries()"
        ".map(task => Math.round(task.duration)))).observe({entryTypes: ['longtask']})"
    )
    visit.paste(crowd(1_000) + TOOLS)
    visit.page.locator("#query").fill("")
    visit.page.locator("#query").press_sequentially("forecast for a city", delay=30)
    visit.first("get_weather")
    assert visit.page.locator(".ranking li .name").count() <= 4 * 11
    print(f"tasks of 50 ms and more: {visit.page.evaluate('long')} ms")
    assert visit.complaints == []


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
    for key in ("ArrowDown", "ArrowRight", "ArrowDown"):
        keys.press(key)
    second = visit.page.locator("[data-ranker=bm25] .pin").nth(1)
    expect(second).to_be_focused()
    name = second.get_attribute("data-name")
    keys.press("Enter")
    expect(visit.page.locator("#kept")).to_have_text(name or "")
    keys.press("Escape")
    expect(visit.page.locator("#query")).to_be_focused()


def test_texts_of_tools_stay_text(visit: Visit):
    evil = {"name": "<img src=x onerror=alert(1)>", "description": "<script>alert(2)</script> evil"}
    visit.paste([evil, *TOOLS])
    visit.ask("evil")
    visit.first(evil["name"])
    assert visit.page.locator("#columns img, #columns script").count() == 0
    assert visit.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_is_in_the_way_of_anybody(browser: Browser, server: Server, scheme: str):
    size = {"width": 1280, "height": 900}
    for visit in visited(browser, server, color_scheme=scheme, viewport=size):
        visit.first("ci_get_log")
        visit.page.get_by_label("Your own").check()
        visit.paste(TOOLS)
        visit.settings()
        visit.ask("read a file")
        visit.first("read_file")
        found = Axe().run(visit.page).response["violations"]
        serious = [each for each in found if each["impact"] in ("serious", "critical")]
        told = [(each["id"], [n["html"] for n in each["nodes"]][:3]) for each in serious]
        assert told == []


def test_the_button_changes_the_colours_and_they_stay(visit: Visit):
    colour = "getComputedStyle(document.body).backgroundColor"
    before = visit.page.evaluate(colour)
    visit.page.get_by_role("button", name="Dark").click()
    dark = visit.page.evaluate(colour)
    assert dark != before
    visit.page.reload()
    assert visit.page.evaluate(colour) == dark


@pytest.mark.parametrize("own", [False, True], ids=["sample", "own"])
@pytest.mark.parametrize(
    ("width", "height"), [(1600, 900), (1280, 800), (1024, 768), (390, 740), (360, 640)]
)
def test_the_answer_stands_right_under_the_question(
    browser: Browser, server: Server, width: int, height: int, own: bool
):
    for visit in visited(browser, server, viewport={"width": width, "height": height}):
        if own:
            visit.paste(TOOLS)
            visit.ask("read a file")
        visit.first("read_file" if own else "ci_get_log")
        box = visit.page.locator("#summary .names .name").first.bounding_box()
        assert box
        assert box["y"] + box["height"] < height


def test_nothing_of_other_tools_is_left_when_the_list_is_empty(visit: Visit):
    visit.first("ci_get_log")
    visit.page.get_by_label("Your own").check()
    expect(visit.page.locator("#loaded")).to_contain_text("No tools yet")
    visit.shows_nothing()
    expect(visit.page.locator("#examples li")).to_have_count(0)
    visit.paste([{"name": "read_file", "description": "Read a file"}])
    expect(visit.page.locator("#loaded")).to_have_text("1 tool, 1 KB as JSON")


def test_a_link_brings_question_and_settings_back(visit: Visit):
    visit.first("ci_get_log")
    visit.settings()
    visit.page.get_by_label("Assistant").check()
    visit.page.get_by_label("BM25").check()
    visit.page.locator("#top-k").fill("3")
    visit.page.locator("#keep").fill("send_mail")
    visit.page.locator("#keep").press("Enter")
    visit.ask("weather & forecast?")
    visit.first("get_weather")
    shown = visit.answer()
    visit.page.get_by_role("button", name="Copy link").click()
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
    visit.page.locator("#keep").fill("launch_codes")
    visit.page.locator("#keep").press("Enter")
    visit.ask("read a file")
    visit.first("read_file")
    link = visit.page.url
    assert "read+a+file" in link
    assert "launch" not in link
    assert ZENITH not in link
    visit.page.reload()
    expect(visit.page.locator("#query")).to_have_value("read a file")
    expect(visit.page.locator("#loaded")).to_contain_text("No tools yet")


def test_a_term_explains_itself_on_hover_on_focus_and_on_tap(browser: Browser, server: Server):
    size = {"width": 390, "height": 740}
    for visit in visited(browser, server, viewport=size, has_touch=True):
        visit.first("ci_get_log")
        bubble = visit.page.locator("#meaning")
        expect(bubble).to_be_hidden()
        visit.page.locator("#summary .outcome").tap()
        expect(bubble).to_contain_text("Enough evidence")
        visit.page.keyboard.press("Escape")
        expect(bubble).to_be_hidden()
        visit.page.locator("#summary [data-word=digest]").focus()
        expect(bubble).to_contain_text("fingerprint")
        visit.page.locator(".ranker [data-word=cut]").first.hover()
        expect(bubble).to_contain_text("top_k")
        visit.page.locator("h1").hover()
        expect(bubble).to_be_hidden()


def test_a_share_is_never_rounded_up_to_all(visit: Visit):
    script = "async whole => (await import('/playground/dom.js')).percent(whole - 495, whole)"
    assert visit.page.evaluate(script, 119_523) == "99.5 %"
    assert visit.page.evaluate(script, 10_000_000) == "99.9 %"
    assert visit.page.evaluate(script, 990) == "50 %"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_browser_of_the_api_has_the_colours_of_the_page(
    browser: Browser, server: Server, scheme: str
):
    for visit in visited(browser, server, color_scheme=scheme):
        visit.first("ci_get_log")
        visit.page.get_by_role("link", name="API").click()
        expect(visit.page.locator("#ui h2").first).to_contain_text("Toolscout")
        dark = visit.page.evaluate("document.documentElement.classList.contains('dark')")
        assert dark is (scheme == "dark")
        assert visit.complaints == []


@pytest.mark.parametrize(
    ("name", "width", "height", "scheme"),
    [
        ("light", 1216, 1180, "light"),
        ("dark", 1216, 1180, "dark"),
        ("phone", 360, 640, "light"),
    ],
)
def test_it_fits_its_window(browser: Browser, server: Server, name, width, height, scheme):
    size = {"width": width, "height": height}
    for visit in visited(browser, server, viewport=size, color_scheme=scheme):
        visit.first("ci_get_log")
        visit.page.get_by_label("Always keep ci_cancel").first.click()
        expect(visit.page.locator("[data-ranker=hybrid] .is-pin")).to_have_count(1)
        assert visit.page.evaluate("document.documentElement.scrollWidth") == width
        if os.environ.get("TOOLSCOUT_IMAGES"):
            visit.page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
            full = {"x": 0, "y": 0, "width": width, "height": 1_180 if width > 400 else 1_700}
            path = IMAGES / f"playground-{name}.png"
            visit.page.screenshot(path=path, full_page=True, clip=full)
