"""The encoder itself, with the packages of its extra."""

import os
import signal
from collections.abc import Iterator

import numpy as np
import pytest

from evals.speed.processes import below
from tests.support import TOOLS, Process, running, until
from toolscout import Engine
from toolscout.index.encoder import DIMENSION, load_encoder

pytestmark = pytest.mark.integration

BATCH = "/v1/tool-discovery/search:batch"


@pytest.fixture(scope="module")
def encoding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """Yield a server whose encoder has read `TOOLS`."""
    with running(tmp_path_factory.mktemp("encoding"), "--encoder", "on") as server:
        server.search()
        until(lambda: ranker(server, "read a file") == "hybrid+encoder")
        yield server


def ranker(server: Process, pattern: str) -> str:
    found = server.search(pattern, explain=True, latency_budget_ms=1_000)
    name: str = found.json()["ranker"]
    return name


def test_vectors_are_unit_vectors_and_know_what_is_alike():
    encoder = load_encoder()
    tools = np.stack([encoder.tool(f"{tool['name']}. {tool['description']}") for tool in TOOLS])
    assert tools.shape == (len(TOOLS), DIMENSION)
    assert np.linalg.norm(tools, axis=1).tolist() == pytest.approx([1.0] * len(TOOLS), abs=1e-5)
    best = int((tools @ encoder.query("will it rain tomorrow?")).argmax())
    assert TOOLS[best]["name"] == "get_weather"


def test_a_library_encodes_at_once():
    engine = Engine(TOOLS, encoder=True)
    found = engine.search("will it rain tomorrow?")
    assert (found.ranker, found.names[0]) == ("hybrid+encoder", "get_weather")
    assert engine.search("get_.*").ranker == "regex"
    assert engine.search("上海明天天气怎么样？").ranker == "hybrid"


def test_server_and_library_answer_alike(encoding: Process):
    engine = Engine(TOOLS, encoder=True)
    for query in ("will it rain tomorrow?", "make the photo smaller", "write to Ann"):
        until(lambda query=query: ranker(encoding, query) == "hybrid+encoder")  # type: ignore[misc]
        assert encoding.names(query) == engine.search(query).names


def test_the_header_and_the_log_say_it(encoding: Process):
    header = encoding.search().headers["x-tool-selection"]
    assert "ranker=hybrid+encoder" in header
    until(lambda: '"ranker":"hybrid+encoder"' in encoding.stdout)


def test_each_pattern_of_a_batch_is_encoded_while_there_is_time(encoding: Process):
    def rankers(budget_ms: int) -> set[str]:
        patterns = [f"read file {number} of {budget_ms}" for number in range(10)]
        body = {"patterns": patterns, "tools": TOOLS, "explain": True}
        found = encoding.post(body | {"latency_budget_ms": budget_ms}, path=BATCH).json()
        assert {result["degraded"] for result in found["results"]} == {"no"}
        return {result["ranker"] for result in found["results"]}

    assert rankers(100) == {"hybrid"}
    until(lambda: rankers(60_000) == {"hybrid+encoder"})


def test_a_short_budget_goes_without(encoding: Process):
    found = encoding.search("read the new file", latency_budget_ms=10)
    assert "ranker=hybrid;" in found.headers["x-tool-selection"]


def test_without_its_worker_searches_go_on(encoding: Process):
    os.kill(below(encoding.process.pid)[-1], signal.SIGKILL)
    assert encoding.names("read another file")[0] == "read_file"
    until(lambda: ranker(encoding, "read this file") == "hybrid+encoder")
