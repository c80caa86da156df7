"""The service says whether the compiled part of the ranking is used, and counts what it decided."""

from pathlib import Path

import pytest

from tests.support import TOOLS, Server, running, select
from toolscout.ranking.native import extension


def read_counts(server: Server) -> dict[str, float]:
    ways = ("native", "python")
    found = {way: f'toolscout_decisions_total{{way="{way}"}}' for way in ways}
    text = server.get("/metrics").text
    return {way: server.metric(sample) for way, sample in found.items() if sample in text}


@pytest.mark.skipif(extension.find_extension() is None, reason=extension.describe())
def test_switched_on_it_decides_searches_by_hybrid(tmp_path: Path):
    with running(tmp_path) as server:
        assert server.get("/readyz?verbose").json()["ranking"] == "native"
        server.search("read a text file")  # the list may not be compiled yet
        before = read_counts(server).get("native", 0.0)
        server.search("write the text of a file")
        server.search("read a text file", ranker="bm25")
        counts = read_counts(server)
        assert counts["native"] == before + 1
        assert counts["python"] >= 1


def test_switched_off_it_decides_nothing(tmp_path: Path):
    with running(tmp_path, "--native", "off") as server:
        said = server.get("/readyz?verbose").json()["ranking"]
        assert said.startswith("python (")
        names = server.search("read a text file").json()["selected_names"]
        assert names == select(TOOLS, "read a text file").names
        assert set(read_counts(server)) == {"python"}
