"""The balancers' examples agree on what may be asked twice."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "deploy" / "balancers"
ASKING = ("search", "resolve", "filter", "hot")


def repeated(name: str) -> str:
    """Return the lines of an example that name what may be asked again."""
    lines = (FOLDER / name).read_text("utf-8").splitlines()
    return "\n".join(line for line in lines if "/tool-discovery" in line)


@pytest.mark.parametrize("name", ["envoy.yaml", "haproxy.cfg", "nginx.conf"])
def test_what_only_asks_may_be_asked_again_and_nothing_else(name: str):
    lines = repeated(name)
    assert [call for call in ASKING if call not in lines] == []
    assert "api/compress/tool-discovery" in lines
    assert "feedback" not in lines
    assert "chains" not in lines
