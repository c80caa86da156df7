"""The search of the playground in code: every way of it runs as it is pasted."""

import argparse
import json
import shlex
import sys

import pytest
from playwright.sync_api import Browser, expect

from tests.conftest import ZENITH
from tests.integration.visits import Visit, visited
from tests.support import TOOLS, Process, crowd, environment, ran
from toolscout.gateway.commands import add_proxy_arguments

pytestmark = pytest.mark.integration

ODD = {"name": "it's_$HOME", "description": 'Quote `this` "and" \\ \'that\'\nJSON\n """日\\"'}
ASKED = "it's a $(quote) of 'that' \"\"\" \\"


def odd(visit: Visit) -> None:
    visit.paste([*TOOLS, ODD])
    visit.search(ASKED, ODD["name"])


def run_python(text: str, **variables: str) -> str:
    """Run a program twice: the first answer may come before the meanings of its tools are there."""
    for _ in range(2):
        printed: str = ran([sys.executable, "-c", text], env=environment() | variables).stdout
    return printed


@pytest.mark.parametrize("way", ["curl", "curl by digest"])
def test_the_copied_curl_gives_the_same_names(visit: Visit, way: str):
    odd(visit)
    done = ran(["sh", "-c", visit.copied(way)], env=environment())
    assert json.loads(done.stdout)["selected_names"] == visit.answer()


def test_the_copied_python_gives_the_same_names(visit: Visit):
    odd(visit)
    assert run_python(visit.copied("Python")) == f"{visit.answer()}\n"


def test_the_copied_python_has_the_settings_of_the_page(visit: Visit):
    visit.first("ci_get_log")
    visit.settings()
    visit.page.get_by_role("radio", name="BM25").check()
    visit.page.locator("#top-k").fill("3")
    visit.page.get_by_label("With prerequisites").uncheck()
    visit.keep("secrets_get")
    expect(visit.page.locator("#summary .verdict")).to_contain_text("by bm25")
    expect(visit.page.locator("#summary .names .name").last).to_have_text("secrets_get")
    text = visit.copied("Python")
    assert run_python(text) == f"{visit.answer()}\n"
    assert 'fields={"ranker": "bm25", "prerequisites": False}' in text


def test_a_conversation_is_copied_as_one(visit: Visit):
    visit.paste(TOOLS)
    visit.search(json.dumps([{"role": "user", "content": "read a file"}]), "read_file")
    assert run_python(visit.copied("Python")) == f"{visit.answer()}\n"


def test_the_copied_python_takes_its_key_from_a_variable(browser: Browser, keyed: Process):
    for visit in visited(browser, keyed):
        visit.page.locator("#key").fill(ZENITH)
        visit.first("ci_get_log")
        names = run_python(visit.copied("Python"), API_KEY=ZENITH)
        assert names == f"{visit.answer()}\n"


def test_the_copied_transport_can_be_made(visit: Visit):
    pytest.importorskip("openai")
    odd(visit)
    text = visit.copied("OpenAI SDK") + "print(transport.discovery.selector.telemetry.endpoint)"
    assert run_python(text, OPENAI_API_KEY="none").startswith(visit.server.url)


def test_the_copied_proxy_asks_this_service(visit: Visit):
    visit.paste([*TOOLS, ODD])
    visit.search("read a file", "read_file")
    visit.settings()
    visit.keep(ODD["name"])
    expect(visit.page.locator("#summary .names .name").last).to_have_text(ODD["name"])
    command = visit.copied("Proxy").partition("#")[0]
    program, name, *flags = shlex.split(command.replace("\\\n", " "))
    assert (program, name) == ("toolscout", "proxy")
    parser = argparse.ArgumentParser()
    add_proxy_arguments(parser)
    parsed = parser.parse_args(flags)
    assert parsed.selector == visit.server.url
    assert (parsed.max_search_results, parsed.always_keep) == ("5", [ODD["name"]])
    assert f":{parsed.port}" in visit.copied("Proxy").splitlines()[-1]


def test_a_short_list_is_shown_and_a_long_one_counted(visit: Visit):
    snippet = visit.page.locator("#snippet")
    visit.paste(TOOLS[:2])
    visit.ask("read a file")
    expect(snippet).to_contain_text(TOOLS[0]["name"])
    visit.paste(crowd(100))
    visit.ask("a tool")
    expect(snippet).to_contain_text("100 tools")
    assert len(snippet.inner_text()) < 1_000


@pytest.mark.parametrize(
    "script",
    [
        "navigator.clipboard.writeText = () => Promise.reject(new Error())",
        "Object.defineProperty(navigator, 'clipboard', { value: undefined })",
    ],
    ids=["closed", "plain HTTP"],
)
def test_where_there_is_no_clipboard_all_of_it_is_there_to_copy(visit: Visit, script: str):
    visit.first("ci_get_log")
    visit.page.evaluate(f"() => {{ {script} }}")
    visit.page.get_by_role("button", name="Copy", exact=True).click()
    expect(visit.page.locator("#copied")).to_have_text("Copy it from here:")
    assert "secrets_rotate" in visit.page.locator("#by-hand").input_value()
