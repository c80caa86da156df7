"""The cookbook's code is that of the examples, which tests run with the real libraries."""

import json
import re
import shlex
import sys
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests.in_process import serving
from tests.support import ran
from toolscout import Engine
from toolscout.contract.requests import Filters

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "docs" / "cookbook"
PAGES = sorted(path.name for path in BOOK.glob("*.md") if path.name != "README.md")
EXAMPLE = re.compile(r"^    python examples/(\w+)\.py", re.M)


def text_of(page: str) -> str:
    return (BOOK / page).read_text("utf-8")


def lines(code: str) -> str:
    """Code without its indentation, which is another inside a function."""
    return "\n".join(line.strip() for line in code.strip().splitlines())


@pytest.mark.parametrize("page", [page for page in PAGES if "```python" in text_of(page)])
def test_the_code_of_a_page_is_in_the_example_that_it_names(page: str):
    text = text_of(page)
    (example,) = EXAMPLE.findall(text)
    program = lines((ROOT / "examples" / f"{example}.py").read_text("utf-8"))
    for block in re.findall(r"```python\n(.*?)```", text, re.S):
        compile(dedent(block), page, "exec")
        assert all(lines(part) in program for part in block.split("\n\n"))


def test_code_mode_prints_what_its_page_shows():
    page = text_of("code-mode.md")
    (command,) = re.findall(r"^    python (examples/.*)$", page, re.M)
    (shown,) = re.findall(r"```text\n(.*?)```", page, re.S)
    assert shown in ran([sys.executable, *shlex.split(command)], cwd=ROOT).stdout


def test_a_call_of_code_mode_reaches_the_tool_of_its_function(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    example: Any = import_module("code_mode")
    tools = [
        {"name": name, "description": "Get the weather"} for name in ("get-weather", "get.weather")
    ]
    monkeypatch.setattr(example, "engine", Engine(tools))
    monkeypatch.setattr(example, "run", lambda name, arguments: (name, arguments))
    shown = example.show("get the weather")
    assert set(shown) == {"get_weather", "get_weather_2"}
    called = [example.call(shown, function, {"city": "Rome"}) for function in shown]
    assert sorted(called) == [(tool["name"], {"city": "Rome"}) for tool in tools]
    assert example.call(shown, "get-weather", {}) == "there is no function get-weather"


def test_the_filters_of_code_mode_give_a_tool_that_writes_a_signature(tmp_path: Path):
    page = text_of("code-mode.md")
    (written,) = re.findall(r"`filters=(Filters.*?)`", page)
    (sent,) = re.findall(r"`(\"filters\": .*?)`", page)
    tool = {"name": "send_mail", "description": "Send a mail"}
    filters = eval(written, {"Filters": Filters})
    (shown,) = Engine([tool]).search("send a mail", detail="stub_python", filters=filters).tools
    body = {"query": "send a mail", "tools": [tool], "detail": "stub_python"}
    with serving(tmp_path) as server:
        answer = server.post(body | json.loads(f"{{{sent}}}")).json()
    assert shown.stub
    assert answer["tools"][0]["stub"] == shown.stub


def test_every_example_has_its_page():
    named = {example for page in PAGES for example in EXAMPLE.findall(text_of(page))}
    examples = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert named == examples - {"toolbox", "scripted_model"}  # the latter is in the tutorials
