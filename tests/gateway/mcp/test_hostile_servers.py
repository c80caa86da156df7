"""A server that means harm harms nobody but itself."""

import signal
import threading
from pathlib import Path

import pytest
from mcp import MCPError

from tests.gateway.mcp.hosts import connected, host, listening, stdio_server, text_of, write
from tests.gateway.mcp.test_process import start
from tests.support import PATIENCE_S, until

KEY = "sesame-of-the-longer-kind"
PEM = "-----BEGIN KEY-----\nc2VzYW1lLXNlc2FtZQ==\n  b3BlbnNlc2FtZQ==\n-----END KEY-----\n"


def hostile(harm: str = "", **env: str) -> dict[str, object]:
    return stdio_server("hostile", env={"HARM": harm, **env})


def peak_mib(pid: int) -> float:
    """The most memory that a process has had so far."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1_024


def test_no_value_of_env_reaches_the_log_in_any_part(tmp_path: Path):
    with host(tmp_path, {"odd": hostile("leak", KEY=KEY, PEM=PEM)}) as office:
        until(lambda: "odd: after" in office.stderr)
        lines = office.stderr.splitlines()
    assert not any(KEY[:6] in line for line in lines)
    assert not any(part in line for part in PEM.split("\n") if part for line in lines)
    assert r"INFO odd: \x1b[2J\u202ered" in lines
    assert 1_900 < max(map(len, lines)) < 2_100


@pytest.mark.parametrize("how", ["deep", "dense", "long", "broken"])
def test_a_call_whose_answer_cannot_be_read_ends_with_an_error(tmp_path: Path, how: str):
    with host(tmp_path, {"odd": hostile()}) as office:
        failed = office.call("odd__work", how=how)
        assert failed.is_error
        assert text_of(failed) == "odd gave an answer that cannot be read"
        assert text_of(office.call("odd__work")) == "worked"


@pytest.mark.integration
@pytest.mark.parametrize("stream", ["stderr", "stdout"])
def test_a_line_without_end_takes_no_memory_and_holds_up_no_other(tmp_path: Path, stream: str):
    config = write(tmp_path, {"odd": hostile(stream), "notes": stdio_server()})
    command = ["-m", "toolscout", "mcp", "--config", str(config), "--http", "127.0.0.1:PORT"]
    with (
        listening(tmp_path, *command) as (url, process),
        connected(url, tmp_path) as office,
        connected(url, tmp_path) as other,
    ):
        until(lambda: {"odd__work", "notes__list_notes"} <= office.names())
        idle = peak_mib(process.pid)

        def lost() -> None:
            with pytest.raises(MCPError):  # the gateway ends before it is answered
                office.call("odd__work", how="endless")

        call = threading.Thread(target=lost)
        call.start()
        for _ in range(100):
            assert not other.call("notes__list_notes").is_error
            call.join(0.05)
        assert peak_mib(process.pid) <= 1.5 * idle + 64
        process.terminate()
        assert process.wait(PATIENCE_S) == 0
        call.join(PATIENCE_S)


@pytest.mark.integration
def test_a_server_that_never_answers_is_gone_with_its_children_when_the_gateway_ends(
    tmp_path: Path,
):
    pids = tmp_path / "pids"
    config = str(write(tmp_path, {"odd": hostile("sulk", PIDS=str(pids))}))
    with start("--config", config, folder=tmp_path) as process:
        until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
    until(lambda: not any(map(is_running, pids.read_text().split())))


def is_running(pid: str) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
