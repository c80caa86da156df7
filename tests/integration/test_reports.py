"""The pages that commands write, in a browser: `toolscout evaluate --html` and the board's."""

import json
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from evals.board import page
from tests.support import TOOLS
from toolscout.cli import main

pytestmark = pytest.mark.integration

BOARD = Path(__file__).parents[2] / "docs" / "board.html"
HOSTILE = '<img src=x onerror="document.title=1"></style><script>document.title=2</script>'


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a report with misses, in which tools and questions hold markup."""
    folder = tmp_path_factory.mktemp("report")
    tools = [*TOOLS, {"name": HOSTILE, "description": HOSTILE}]
    questions = [
        {"query": f"read a file {HOSTILE}", "tools": ["get_weather"]},
        {"query": "what is the weather", "tools": [HOSTILE]},
        {"query": HOSTILE, "tools": []},
    ]
    (folder / "tools.json").write_text(json.dumps(tools))
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)))
    given = ["--tools", str(folder / "tools.json"), "--questions", str(folder / "questions.jsonl")]
    html = folder / "report.html"
    assert main(["evaluate", *given, "--top-k", "1", "--price", "3", "--html", str(html)]) == 0
    return html


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a board of names with markup."""
    rows = [
        {"selector": HOSTILE, "set": f"pooled-dev@{size}", "tools": size, "questions": 9,
         "sample": 10, "all_questions": 10, "impossible": 0, "warm_ms": size / 9, "cold_ms": 9.0,
         "values": {"R@5": 90 / size}}
        for size in (100, 300)
    ]  # fmt: skip
    rows += [row | {"set": HOSTILE, "selector": "toolscout"} for row in rows[:1]]
    written = tmp_path_factory.mktemp("board") / "board.html"
    written.write_text(page.as_page({"rows": rows}))
    return written


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["report", "board", "docs"])
def test_a_page_is_for_anybody_and_runs_nothing(
    browser: Browser, request: pytest.FixtureRequest, name: str, scheme: str
):
    path: Path = BOARD if name == "docs" else request.getfixturevalue(name)
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    asked: list[str] = []
    tab.on("request", lambda each: asked.append(each.url))
    tab.goto(path.as_uri())
    assert asked == [path.as_uri()]
    assert tab.title() not in ("1", "2")
    assert tab.locator("script, main img").count() == 0
    assert tab.evaluate("document.documentElement.scrollWidth") <= 1280
    found = Axe().run(tab).response["violations"]
    assert [(each["id"], [n["html"] for n in each["nodes"]][:3]) for each in found] == []
    dark = tab.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")
    if name != "docs":
        assert "onerror" in (tab.locator("main").text_content() or "")
    context.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_no_word_of_a_miss_is_broken(browser: Browser, report: Path, width: int):
    """A range around each piece between two places to break stands on one line."""
    tab = browser.new_page(viewport={"width": width, "height": 900})
    tab.goto(report.as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    pieces, broken = tab.evaluate(
        """() => {
          const pieces = [];
          for (const cell of document.querySelectorAll(".stacked :is(td, th)"))
            for (const node of cell.childNodes)
              for (const { index, 0: word } of (node.data ?? "").matchAll(/[\\w]+/g)) {
                const range = document.createRange();
                range.setStart(node, index);
                range.setEnd(node, index + word.length);
                pieces.push([word, new Set([...range.getClientRects()].map((r) => r.top)).size]);
              }
          return [pieces.length, pieces.filter(([, lines]) => lines > 1)];
        }"""
    )
    assert pieces > 20
    assert broken == []
    tab.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_board_is_short_until_a_set_is_unfolded(browser: Browser, width: int):
    tab = browser.new_page(viewport={"width": width, "height": 900})
    tab.goto(BOARD.as_uri())
    height = "document.documentElement.scrollHeight"
    assert tab.evaluate(height) <= 8_000
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    assert (tab.locator("main").inner_text()).count("Made by") == 1
    assert tab.locator("table").count() == tab.locator("details table").count() > 10
    for label in (tab.locator(".bars span").first, tab.locator("svg text").first):
        assert label.evaluate("each => each.getBoundingClientRect().height") >= 13
    tab.locator("summary").first.click()
    assert tab.evaluate(height) <= 10_000
    tab.close()
