"""The playground: where it is served, what a browser is told about it, and that it is complete."""

import json
import re

import pytest

from tests.support import Process, running
from toolscout import Engine
from toolscout.contract.tools import Tool
from toolscout.playground import is_on, load_static_files
from toolscout.settings_sources import load

FILES = sorted(load_static_files())


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory):
    with running(tmp_path_factory.mktemp("hidden"), "--playground", "off") as started:
        yield started


def linked(text: str) -> set[str]:
    """Return what a page or a script loads."""
    return set(re.findall(r'(?:src|href)="(playground/[^"]+)"|from "\./([^"]+)"', text))


def test_the_page_is_at_the_root(server: Process):
    page = server.get("/")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert page.text.startswith("<!doctype html>")


def test_the_page_may_load_and_ask_this_service_alone(server: Process):
    headers = server.get("/").headers
    policy = dict(
        part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";")
    )
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "connect-src": "'self'",
        "img-src": "'self' data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_served_with_its_type(server: Process, name: str):
    media = {"css": "text/css", "js": "text/javascript", "json": "application/json"}
    media |= {"html": "text/html", "svg": "image/svg+xml"}
    response = server.get(f"/playground/{name}")
    assert response.status_code == 200
    assert response.content == load_static_files()[name].content
    assert b"%VERSION%" not in response.content
    assert response.headers["content-type"].startswith(media[name.rpartition(".")[2]])
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/", "/playground/main.js", "/playground/platform.json"])
def test_what_a_browser_has_is_not_sent_again(server: Process, path: str):
    first = server.get(path)
    assert first.headers["cache-control"] == "no-cache"
    again = server.get(path, **{"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert server.get(path, **{"if-none-match": '"other"'}).status_code == 200


@pytest.mark.parametrize("name", ["nothing.js", "__init__.py", "..%2f__init__.py", "%00"])
def test_nothing_else_is_served(server: Process, name: str):
    assert server.get(f"/playground/{name}").status_code == 404


def test_the_banner_says_where_it_is(server: Process, hidden: Process):
    assert f"play    {server.url}/\n" in server.stderr
    assert "play" not in hidden.stderr


@pytest.mark.parametrize(
    ("host", "playground", "served"),
    [
        ("127.0.0.1", "auto", True),
        ("::1", "auto", True),
        ("localhost", "auto", True),
        ("0.0.0.0", "auto", False),
        ("192.0.2.1", "auto", False),
        ("example.org", "auto", False),
        ("0.0.0.0", "on", True),
        ("127.0.0.1", "off", False),
    ],
)
def test_it_is_on_where_only_this_machine_can_ask_or_by_setting(host, playground, served):
    assert is_on(load({"host": host, "playground": playground}, {})) is served


def test_it_needs_no_key_and_shows_none(keyed: Process):
    assert keyed.get("/").status_code == 200


NAMED = ("http://www.w3.org/2000/svg", "https://api.openai.com/v1", "http://127.0.0.1:8100")
"""A name that is no place, and two addresses in commands to be pasted elsewhere."""


def test_no_file_names_another_host():
    for name, file in load_static_files().items():
        text = file.content.decode()
        for named in NAMED:
            text = text.replace(named, "")
        assert not re.findall(r"(?:https?:|wss?:|[\"'(])//\w", text), name


def test_no_script_makes_markup_or_code_from_text():
    for name, file in load_static_files().items():
        banned = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
        assert not re.search(banned, file.content.decode()), name


def test_the_page_has_neither_inline_script_nor_inline_style():
    page = load_static_files()["index.html"].content.decode()
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=", page)


@pytest.mark.parametrize("sample", ["assistant", "platform", "small"])
def test_the_first_answer_to_every_example_is_right(sample: str):
    content = json.loads(load_static_files()[f"{sample}.json"].content)
    engine = Engine(content["tools"])
    first = {query: next(iter(engine.search(query).names), None) for query in content["examples"]}
    assert first == content["examples"]


def test_the_page_knows_every_field_of_a_tool():
    text = load_static_files()["tools.js"].content.decode()
    listed = re.search(r"const FIELDS = \[(.*?)\]", text, re.S)
    assert listed
    assert tuple(re.findall(r'"(\w+)"', listed[1])) == Tool.__struct_fields__
