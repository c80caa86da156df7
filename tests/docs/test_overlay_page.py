"""The file on the page of overlays does what the page says."""

import re
import shlex
from pathlib import Path

from tests.docs.commands import ROOT, commands
from tests.support import running, toolscout

PAGE = ROOT / "docs" / "overlay.md"


def test_the_file_of_the_page_finds_what_was_not_found(tmp_path: Path):
    (text,) = re.findall(r"^```toml\n(.*?)^```", PAGE.read_text("utf-8"), re.S | re.M)
    (tmp_path / "overlay.toml").write_text(text, "utf-8")
    search, serve, _ = (shlex.split(one)[1:] for one in commands(PAGE))
    at = search.index("--overlay") + 1
    plain = toolscout(*search[: at - 1], "--json")
    search[at] = str(tmp_path / "overlay.toml")
    found = toolscout(*search)
    assert "cost_report" in found.stdout
    assert "overlay" in found.stdout
    assert '"name": "cost_report"' not in plain.stdout.partition('"name"')[2].partition("}")[0]
    with running(tmp_path, "--overlay", search[at]) as server:
        assert serve[:2] == ["serve", "--overlay"]
        assert server.get("/readyz").is_success
