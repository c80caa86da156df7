"""The examples of docs/engine.md give what they show."""

import doctest
import inspect
import re
from pathlib import Path

from toolscout import Engine, Result
from toolscout.ranking.ask import SearchOptions

TEXT = (Path(__file__).parents[2] / "docs" / "engine.md").read_text("utf-8")


def test_the_examples_give_what_they_show():
    blocks = re.findall(r"^```pycon\n(.*?)^```", TEXT, re.S | re.M)
    assert len(blocks) >= 3
    example = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "engine.md", None, 0)
    told: list[str] = []
    failed, tried = doctest.DocTestRunner().run(example, out=told.append)
    assert tried > 6
    assert failed == 0, "".join(told)


def test_every_argument_field_and_call_is_described():
    options = SearchOptions.__annotations__
    for name in ("top_k", "explain", *options, *Result.__struct_fields__):
        assert f"`{name}`" in TEXT, name
    for name in inspect.signature(Engine).parameters:
        assert re.search(rf"Engine\(.*\b{name}\b", TEXT), name
    for call in ("add", "remove", "resolve", "resolution", "search"):
        assert f"`engine.{call}(" in TEXT
