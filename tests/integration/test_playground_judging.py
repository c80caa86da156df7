"""The playground's answers judged by hand: ticks, a download, and the moving picture of it all.

With TOOLSCOUT_IMAGES in the environment the moving picture of the README is written anew.
"""

import io
import json
import os
import re
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Request, expect

from tests.integration.visits import Visit, visited
from tests.support import TOOLS, Process, toolscout

pytestmark = pytest.mark.integration

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "playground.webp"
TYPING_MS = 70
READING_MS = 2_200


def status(visit: Visit) -> Locator:
    return visit.page.locator(".judging [role=status]")


def tick(visit: Visit, name: str) -> Locator:
    return visit.page.get_by_role("button", name=f"{name} was wanted")


def downloaded(visit: Visit, folder: Path) -> Path:
    with visit.page.expect_download() as download:
        visit.page.get_by_role("button", name="Download questions").click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_judged_questions_are_downloaded_and_evaluated(visit: Visit, tmp_path: Path):
    visit.paste(TOOLS)
    visit.search("forecast for a city", "get_weather")
    expect(visit.page.get_by_role("button", name="Download questions")).to_be_hidden()
    tick(visit, "get_weather").click()
    expect(status(visit)).to_have_text("1 question judged, 1 answered right.")
    visit.ask("a joke about the moon, please")
    expect(visit.page.locator("#results")).to_have_attribute("aria-busy", "false")
    visit.page.get_by_role("button", name="No tool fits").click()
    visit.search("read a file", "read_file")
    other = visit.page.get_by_label("Another tool was wanted")
    other.fill("no_such_tool")
    other.press("Enter")
    expect(other).to_have_attribute("aria-invalid", "true")
    other.fill("get_weather")
    other.press("Enter")
    expect(status(visit)).to_contain_text("3 questions judged")
    questions = downloaded(visit, tmp_path)
    assert [json.loads(line) for line in questions.read_text("utf-8").splitlines()] == [
        {"query": "forecast for a city", "tools": ["get_weather"]},
        {"query": "a joke about the moon, please", "tools": []},
        {"query": "read a file", "tools": ["get_weather"]},
    ]
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps(TOOLS), "utf-8")
    done = toolscout("evaluate", "--tools", str(tools), "--questions", str(questions), "--json")
    assert json.loads(done.stdout)["questions"] == 3


def test_a_judgement_is_taken_back_and_stays_with_its_question_and_tools(visit: Visit):
    visit.first("ci_get_log")
    visit.page.get_by_role("button", name="No tool fits").click()
    expect(status(visit)).to_have_text("1 question judged, 0 answered right.")
    tick(visit, "ci_get_log").click()
    expect(status(visit)).to_have_text("1 question judged, 1 answered right.")
    visit.page.get_by_label("Assistant").check()
    expect(visit.page.locator("#loaded")).to_contain_text("tools")
    expect(status(visit)).to_have_text("")
    visit.page.get_by_label("Platform team").check()
    visit.first("ci_get_log")
    expect(tick(visit, "ci_get_log")).to_have_attribute("aria-pressed", "true")
    tick(visit, "ci_get_log").click()
    expect(status(visit)).to_have_text("")


def test_other_pasted_tools_have_questions_of_their_own(visit: Visit, tmp_path: Path):
    visit.paste(TOOLS)
    visit.search("forecast for a city", "get_weather")
    tick(visit, "get_weather").click()
    visit.paste([{"name": "brew_tea", "description": "Brew a pot of tea"}])
    visit.search("brew some tea", "brew_tea")
    tick(visit, "brew_tea").click()
    expect(status(visit)).to_have_text("1 question judged, 1 answered right.")
    assert "get_weather" not in downloaded(visit, tmp_path).read_text("utf-8")
    visit.paste(TOOLS)
    visit.search("forecast for a city", "get_weather")
    expect(tick(visit, "get_weather")).to_have_attribute("aria-pressed", "true")


def test_a_conversation_has_nothing_to_tick(visit: Visit):
    visit.paste(TOOLS)
    visit.search(json.dumps([{"role": "user", "content": "read a file"}]), "read_file")
    expect(visit.page.locator(".judging, .tick")).to_have_count(0)


def test_the_price_of_tokens_is_given_for_a_thousand_questions(visit: Visit):
    visit.first("ci_get_log")
    visit.settings()
    tokens = visit.page.locator("#summary .figure", has_text="Prompt tokens")
    price = visit.page.get_by_label("$ a million tokens")
    price.fill("1000")
    offered, selected = (
        int(text.replace(",", ""))
        for text in tokens.locator(".value > span > span").all_inner_texts()[::3]
    )
    expected = f"${offered:.2f} → ${selected:.2f} for 1,000 questions"
    expect(tokens).to_contain_text(expected)
    price.fill("0")
    expect(tokens).not_to_contain_text("$")


def test_the_time_is_the_total_of_the_service(visit: Visit):
    visit.first("ci_get_log")
    finished: list[Request] = []
    visit.page.on("requestfinished", lambda request: finished.append(request))
    visit.search("roll back the last deployment", "deploy_rollback")
    texts = [answer.text() for request in finished if (answer := request.response())]
    totals = re.findall(r'"total":([\d.]+)', "".join(texts))
    shown = visit.page.locator("#summary .figure", has_text="in the service").inner_text()
    written = [f"{t:.2f}" if t < 10 else f"{int(t + 0.5)}" for t in map(float, totals)]
    assert any(f"{text} ms" in shown for text in written)
    assert "total" not in shown


def test_the_first_answer_warns_of_nothing(visit: Visit):
    visit.first("ci_get_log")
    expect(visit.page.locator(".is-warning, [data-outcome=weak]")).to_have_count(0)


def test_the_moving_picture_shows_two_questions_and_a_judgement(browser: Browser, server: Process):
    frames: list[tuple[Image.Image, int]] = []
    for visit in visited(browser, server, viewport={"width": 1_100, "height": 720}):

        def shot(visit: Visit, stays_ms: int) -> None:
            frames.append((Image.open(io.BytesIO(visit.page.screenshot())), stays_ms))

        visit.first("ci_get_log")
        shot(visit, READING_MS)  # what stands there before it moves
        for question, wanted in (
            ("which requests are slow, and where?", "traces_find_slow"),
            ("Mach das letzte Deployment rückgängig", "deploy_rollback"),
        ):
            query = visit.page.locator("#query")
            query.fill("")
            visit.shows_nothing()
            shot(visit, TYPING_MS * 6)
            for end in range(2, len(question) + 1, 2):
                query.fill(question[:end])
                visit.page.wait_for_timeout(TYPING_MS)
                shot(visit, TYPING_MS * 2)
            query.fill(question)
            expect(visit.page.locator("#summary .names .name").first).to_have_text(wanted)
            shot(visit, READING_MS)
            tick(visit, wanted).click()
            expect(status(visit)).to_contain_text("judged")
            shot(visit, READING_MS)
    if os.environ.get("TOOLSCOUT_IMAGES"):
        first, *rest = (image for image, _ in frames)
        durations = [stays_ms for _, stays_ms in frames]
        moving = {"save_all": True, "append_images": rest, "duration": durations, "loop": 0}
        first.save(PICTURE, quality=50, method=6, **moving)
