"""The playground in a real browser: Debian's Chromium, driven by Playwright."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Browser, expect

from tests.catalogs import SHAPES, in_shape
from tests.conftest import ZENITH
from tests.integration.visits import Visit, visited
from tests.support import TOOLS, Process, crowd, running
from toolscout.files.reading import read_file
from toolscout.settings import MIB

pytestmark = pytest.mark.integration

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


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
    visit.search("find the file with the code on disk", "read_file")
    for ranker in ("hybrid", "bm25", "semantic", "regex"):
        fields = {"ranker": ranker, "explain": True, "top_k": 2}
        said = visit.server.search("find the file with the code on disk", **fields).json()
        assert visit.ranking(ranker) == said["selected_names"]
        wider = visit.server.names("find the file with the code on disk", ranker=ranker, top_k=8)
        assert visit.ranking(ranker, ".cut") == wider[2:]
    score = visit.page.locator("[data-ranker=regex] .score").first.text_content() or ""
    assert score.endswith(f"{said['matches'][0]['score']:.2f}")
    reasons = visit.page.locator("[data-ranker=hybrid] .reasons").first.text_content() or ""
    assert "file keyword" in reasons
    assert "meaning" in reasons
    assert visit.complaints == []


def test_where_nothing_fits_every_tool_is_shown_and_nothing_is_saved(visit: Visit):
    visit.paste(TOOLS)
    visit.ask("xyzzy plugh")
    expect(visit.page.locator("#summary .outcome")).to_have_text("no match")
    tools, tokens, _ = visit.page.locator("#summary .figure .value").all()
    expect(tools).to_have_text(f"{len(TOOLS)} →  become {len(TOOLS)}", use_inner_text=False)
    before, after = tokens.locator(".before"), tokens.locator("span > span:last-child")
    assert before.inner_text() == after.first.inner_text()
    expect(tokens.locator(".saved")).to_have_text("0 % saved")
    expect(visit.page.locator("#summary")).to_contain_text("a proxy shows every tool")
    price = visit.page.locator("#summary .figure", has_text="for 1,000 questions").inner_text()
    assert len({part for part in price.split() if part.startswith("$")}) == 1


def test_a_guess_is_called_one_and_praised_for_no_saving(visit: Visit):
    visit.ask("tell me a joke")
    expect(visit.page.locator("#summary .outcome")).to_have_text("weak")
    summary = visit.page.locator("#summary")
    expect(summary).to_contain_text("these tools may be unrelated")
    expect(summary.locator(".saved")).to_have_count(0)
    expect(summary).not_to_contain_text("saved")


def test_an_answer_is_as_short_and_as_bare_as_asked(visit: Visit):
    schema = {"type": "object", "properties": {"customer_id": {}}, "required": ["customer_id"]}
    bill = {"name": "create_invoice", "description": "Write an invoice", "parameters": schema}
    find = {"name": "search_customers", "description": "Look people up in the directory"}
    visit.paste([bill, find, *TOOLS])
    visit.search("write an invoice over forty euros", "create_invoice")
    assert "search_customers" in visit.ranking("hybrid")
    visit.settings()
    visit.page.get_by_label("With prerequisites").uncheck()
    expect(visit.page.locator("[data-ranker=hybrid] .name", has_text="search_")).to_have_count(0)


def test_tools_are_sent_once_and_again_when_the_service_forgot_them(
    browser: Browser, tmp_path: Path
):
    sent: list[str] = []
    with running(tmp_path, "--cache-bytes", str(MIB)) as server:
        for visit in visited(browser, server):
            visit.first("ci_get_log")
            visit.page.on("request", lambda request: sent.append(request.post_data or ""))
            visit.paste(TOOLS)
            visit.search("read a file", "read_file")
            visit.search("forecast for a city", "get_weather")
            assert sum('"tools":' in body for body in sent) == 1
            digest = json.loads(sent[-1])["catalog"]
            for number in range(30):
                server.search(tools=crowd(40, f"push{number}"))
            assert server.search(catalog=digest).status_code == 404
            visit.search("send a message", "send_email")
            assert sum('"tools":' in body for body in sent) == 2


def test_a_star_pins_a_tool_in_every_ranking(visit: Visit):
    visit.first("ci_get_log")
    visit.settings()
    visit.keep("secrets_get")
    expect(visit.page.locator("[data-ranker=hybrid] .is-pin")).to_have_count(1)
    for ranker in ("hybrid", "bm25", "semantic", "regex"):
        assert visit.ranking(ranker)[-1] == "secrets_get"
    visit.page.get_by_role("button", name="Keep secrets_get no longer").click()
    expect(visit.page.locator(".is-pin")).to_have_count(0)


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
    """Return what the command line makes of a file, as JSON."""
    tools: list[dict[str, Any]] = json.loads(msgspec.json.encode(read_file(path)))
    return tools


def test_a_chosen_file_is_searched(visit: Visit, tmp_path: Path):
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"tools": TOOLS}), "utf-8")
    visit.page.get_by_label("Your own").check()
    visit.page.locator("#file").set_input_files(path)
    visit.search("forecast for a city", "get_weather")


def test_a_dropped_file_is_searched(visit: Visit):
    visit.first("ci_get_log")
    script = """text => {
        const data = new DataTransfer();
        data.items.add(new File([text], "tools.json"));
        return data;
    }"""
    dropped = visit.page.evaluate_handle(script, json.dumps({"tools": TOOLS}))
    visit.page.dispatch_event("body", "drop", {"dataTransfer": dropped})
    visit.search("forecast for a city", "get_weather")


def test_a_service_with_keys_asks_for_one(browser: Browser, keyed: Process):
    for visit in visited(browser, keyed):
        problem = visit.page.locator("#problem")
        expect(problem).to_contain_text("unauthorized")
        expect(problem.locator("code").nth(1)).not_to_be_empty()
        expect(visit.page.locator("#settings")).to_have_attribute("open", "")
        visit.page.locator("#key").fill(ZENITH)
        visit.first("ci_get_log")
        expect(problem).to_be_hidden()
        for way in ("Python", "OpenAI SDK", "Proxy", "curl"):
            text = visit.copied(way)
            assert "API_KEY" in text
            assert ZENITH not in text
            expect(visit.page.locator("#copied")).to_contain_text("API_KEY")


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


def test_texts_of_tools_stay_text(visit: Visit):
    evil = {"name": "<img src=x onerror=alert(1)>", "description": "<script>alert(2)</script> evil"}
    visit.paste([evil, *TOOLS])
    visit.search("evil", evil["name"])
    assert visit.page.locator("#columns img, #columns script").count() == 0
    assert visit.complaints == []


def test_nothing_of_other_tools_is_left_when_the_list_is_empty(visit: Visit):
    visit.first("ci_get_log")
    visit.page.get_by_label("Your own").check()
    expect(visit.page.locator("#loaded")).to_contain_text("No tools yet")
    expect(visit.page.locator("#code")).to_be_hidden()
    visit.shows_nothing()
    expect(visit.page.locator("#examples li")).to_have_count(0)
    visit.paste([{"name": "read_file", "description": "Read a file"}])
    expect(visit.page.locator("#loaded")).to_have_text("1 tool, 1 KB as JSON")


def test_an_empty_list_can_begin_with_a_small_one(visit: Visit):
    visit.first("ci_get_log")
    visit.page.get_by_label("Your own").check()
    small = visit.page.get_by_role("button", name="A small list to begin with")
    small.click()
    visit.first("read_file")
    expect(visit.page.locator("#query")).to_have_value(
        "find where the login code is and open the file"
    )
    assert len(json.loads(visit.page.locator("#paste").input_value())) == 4
    expect(small).to_be_hidden()
    visit.page.locator("#paste").fill("")
    expect(small).to_be_visible()
    visit.shows_nothing()
