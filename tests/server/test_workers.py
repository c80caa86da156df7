"""Several processes on one socket."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.support import SEARCH, TOOLS, Server, running, until

BODY = json.dumps({"pattern": "read a text file", "top_k": 1, "tools": TOOLS}).encode()
ASKED = 60


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("pair"), "--workers", "2") as started:
        yield started


def ask(server: Server) -> httpx2.Response:
    """Ask over a connection of its own, which any of the processes may take."""
    headers = {"content-type": "application/json"}
    return httpx2.post(server.url + SEARCH, content=BODY, headers=headers, trust_env=False)


def test_metrics_add_up_over_the_processes(pair: Server):
    sample = 'toolscout_requests_total{outcome="match"}'
    before = pair.metric(sample)
    answers = {ask(pair).content for _ in range(ASKED)}
    assert answers == {b'{"selected_names":["read_file"]}'}

    def totals() -> set[float]:
        """What ten connections are told: whichever process answers, it says the same."""
        found = set()
        for _ in range(10):
            with httpx2.Client(base_url=pair.url, trust_env=False) as client:
                lines = client.get("/metrics").text.splitlines()
                found |= {float(line.split()[-1]) for line in lines if line.startswith(sample)}
        return found

    until(lambda: totals() == {before + ASKED})  # a process counts several times a second
    assert pair.metric("toolscout_catalog_cache_entries") >= 1


def test_files_of_the_processes_add_up(pair: Server):
    open_files, most = pair.metric("process_open_fds"), pair.metric("process_max_fds")
    served = [Path(f"/proc/{pid}") for pid in children(pair.process.pid)]
    assert open_files >= max(len(list((one / "fd").iterdir())) for one in served) + 10
    assert open_files < most


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split()


def test_that_each_process_has_its_own_memory_is_said(pair: Server):
    assert "each of 2 processes has its own registered catalogs" in pair.stderr


def test_sigterm_ends_them_all(tmp_path: Path):
    with running(tmp_path, "--workers", "2") as server:
        assert ask(server).status_code == 200
        server.process.terminate()
        assert server.wait() == 0
        with pytest.raises(httpx2.ConnectError):
            ask(server)
        assert "Traceback" not in server.stderr
