"""The examples of docs/engine.md give what they show."""

import doctest
import re
from pathlib import Path

TEXT = (Path(__file__).parents[2] / "docs" / "engine.md").read_text("utf-8")


def test_the_examples_give_what_they_show():
    blocks = re.findall(r"^```pycon\n(.*?)^```", TEXT, re.S | re.M)
    assert len(blocks) >= 3
    example = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "engine.md", None, 0)
    told: list[str] = []
    failed, tried = doctest.DocTestRunner().run(example, out=told.append)
    assert tried > 6
    assert failed == 0, "".join(told)
