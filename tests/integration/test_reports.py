"""The page that `toolscout evaluate --html` writes, in a browser."""

import json
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from tests.support import TOOLS
from toolscout.cli import main

pytestmark = pytest.mark.integration

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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_is_for_anybody_and_runs_nothing(browser: Browser, report: Path, scheme: str):
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    asked: list[str] = []
    tab.on("request", lambda each: asked.append(each.url))
    tab.goto(report.as_uri())
    assert asked == [report.as_uri()]
    assert tab.title() not in ("1", "2")
    assert tab.locator("script, main img").count() == 0
    assert tab.evaluate("document.documentElement.scrollWidth") <= 1280
    found = Axe().run(tab).response["violations"]
    assert [(each["id"], [n["html"] for n in each["nodes"]][:3]) for each in found] == []
    dark = tab.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")
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
