"""What README.md tells to do and what takes minutes, or programs of others, to do."""

import os
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from evals.programs import says_yes
from tests import debian, wheels
from tests.readme import ROOT, blocks, commands
from tests.support import PATIENCE_S, environment, free_port, ran

pytestmark = pytest.mark.integration


def command(beginning: str) -> list[str]:
    (found,) = [one for one in commands() if one.startswith(beginning)]
    return shlex.split(found)


def test_make_serve_answers_the_first_question(tmp_path: Path):
    clone = tmp_path / "clone"
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    files = ran(listed, cwd=ROOT).stdout
    for name in files.splitlines():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, clone / name)
    port = free_port()
    served = subprocess.Popen(
        command("make serve"),
        cwd=clone,
        env=environment(TOOLSCOUT_PORT=str(port), PYTHONPATH=""),
        start_new_session=True,
    )
    try:
        for _ in range(3_000):
            if says_yes(f"http://127.0.0.1:{port}/readyz"):
                break
            assert served.poll() is None
            time.sleep(0.1)
        curl = next(block for block in blocks("sh") if block.startswith("curl"))
        done = ran(["sh", "-c", curl.replace(":8080", f":{port}")])
        assert done.stdout == blocks("json")[0].strip()
    finally:
        os.killpg(served.pid, signal.SIGINT)
        served.wait(PATIENCE_S)


def test_compose_takes_the_command(tmp_path: Path):
    """Read by docker-compose: to start its containers takes a registry."""
    debian.need(docker_compose="docker-compose")
    docker, compose, *flags = command("docker compose")
    assert flags[-2:] == ["up", "--build"]
    done = ran([f"{docker}-{compose}", *flags[:-2], "config"], cwd=ROOT)
    assert "toolscout" in done.stdout


def test_the_chart_takes_the_command():
    """Rendered: to install it takes a cluster."""
    _, install, *rest = command("helm install")
    assert install == "install"
    done = ran([str(wheels.helm()), "template", *rest], cwd=ROOT)
    assert "secretName: toolscout-keys" in done.stdout
