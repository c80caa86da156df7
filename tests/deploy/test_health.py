"""The health check of the image, asked beside services that run in each way."""

import sys
from pathlib import Path

import pytest

from tests.certificates import Authority
from tests.support import Process, environment, free_port, ran, running

CHECK = Path(__file__).parents[2] / "deploy" / "health.py"


def status(port: int) -> int:
    """Return how the check ends that the image would make of a port."""
    # A proxy of the environment is for other hosts.
    proxied = environment(TOOLSCOUT_PORT=str(port), http_proxy="http://127.0.0.1:9")
    return ran([sys.executable, CHECK], status=None, env=proxied).returncode


def test_a_service_that_is_ready_is_healthy(server: Process):
    assert status(server.port) == 0


@pytest.mark.parametrize("mutual", [False, True], ids=["TLS", "mutual TLS"])
def test_a_service_with_tls_is_healthy(tmp_path: Path, mutual: bool):
    authority = Authority(tmp_path)
    pair = authority.issue("server", server=True)
    flags = ["--tls-cert", str(pair.cert), "--tls-key", str(pair.key)]
    if mutual:
        flags += ["--tls-client-ca", str(authority.file)]
    trusting = authority.trusting(authority.issue("caller"))
    with running(tmp_path, *flags, tls=trusting) as server:
        assert status(server.port) == 0


def test_where_nobody_listens_nothing_is_healthy():
    assert status(free_port()) == 1


def test_the_image_asks_by_it():
    text = (CHECK.parents[1] / "Dockerfile").read_text("utf-8")
    assert "COPY deploy/health.py /opt/toolscout/health.py" in text
    assert 'CMD ["python", "/opt/toolscout/health.py"]' in text
