"""README.md of the LiteLLM callback, followed line by line in a fresh environment."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evals.programs import running
from tests.client.upstream import peer
from tests.integration.providers import PHANTOM, StrictProviders, search
from tests.integration.proxies import FOLDER, ROOT, VENV, is_live, python, variables
from tests.support import Process, free_port, ran, until
from tests.turns.shapes import Json, Said, Shape

pytestmark = pytest.mark.integration

BLOCKS: list[tuple[str, str]] = re.findall(
    r"^```(\w*)\n(.*?)^```", (FOLDER / "README.md").read_text("utf-8"), re.S | re.M
)
INSTALL, RUN, CURL = (text for language, text in BLOCKS if language == "sh")
ANSWER, LOGGED = (text for language, text in BLOCKS if language == "text")


def sends_email(shape: Shape, body: Json) -> Said:
    """Search where that is possible, then call the right tool."""
    if PHANTOM in shape.names(body) and not shape.results(body):
        return search(1)
    assert "send_email" in shape.names(body)
    return Said(calls=(("call_1", "send_email", {}),))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an environment by the line of the README; LiteLLM's libraries are borrowed."""
    venv = tmp_path_factory.mktemp("readme") / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    python()
    (found,) = VENV.glob("lib/python*/site-packages")
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "borrowed.pth").write_text(str(found), "utf-8")
    pip = [venv / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--quiet"]
    (version,) = found.glob("litellm-[0-9]*.dist-info")
    pinned = "litellm==" + version.name.removeprefix("litellm-").removesuffix(".dist-info")
    subprocess.run([*pip, "install", "--no-deps", "--ignore-installed", pinned], check=True)
    program, *arguments = shlex.split(INSTALL)
    assert program == "pip"
    subprocess.run([*pip, *arguments], cwd=ROOT, check=True)
    assert (site / "toolscout" / "integrations" / "litellm.py").is_file()
    return venv


@pytest.fixture(params=["shadow", "on"])
def rollout(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def proxy(
    environment: Path, server: Process, rollout: str, tmp_path: Path
) -> Iterator[tuple[str, StrictProviders, Path]]:
    """Start the proxy as the README does, at other addresses; yield URL, upstream and log."""
    providers = StrictProviders("sk-choose-your-own", "sk-your-key", "sk-ant-your-key")
    providers.begin(sends_email)
    port = free_port()
    with peer(providers) as upstream:
        script = RUN
        for shown, used in (
            ("https://api.openai.com/v1", f"{upstream.url}/v1"),
            ("https://api.anthropic.com", upstream.url),
            ("http://127.0.0.1:8080", server.url),
            ("TOOLSCOUT_ROLLOUT=shadow", f"TOOLSCOUT_ROLLOUT={rollout}"),
            ("--port 4000", f"--host 127.0.0.1 --port {port}"),
            ("litellm --config", "exec litellm --config"),
        ):
            assert script.count(shown) == 1, shown
            script = script.replace(shown, used)
        env = variables("") | {"PATH": f"{environment / 'bin'}:{os.environ['PATH']}"}
        for name in re.findall(r"^export (\w+)=", RUN, re.M):
            env.pop(name, None)
        url = f"http://127.0.0.1:{port}"
        log = tmp_path / "log"
        with running(["sh", "-c", script], lambda: is_live(url), log, env=env, cwd=FOLDER):
            yield url, providers, log


def test_the_curl_prints_what_the_page_shows(
    proxy: tuple[str, StrictProviders, Path], rollout: str
):
    url, providers, log = proxy
    key = re.findall(r"LITELLM_MASTER_KEY=(\S+)", RUN)[0]
    done = ran(
        ["sh", "-c", CURL.replace("http://127.0.0.1:4000", url)],
        env={**os.environ, "LITELLM_MASTER_KEY": key},
    )
    assert done.stdout == ANSWER
    assert providers.leaks == providers.refused == []
    seen = providers.seen()
    if rollout == "on":
        assert seen == [[PHANTOM, "call_tool", "send_email"]] * 2
        return
    assert len(seen[0]) == 6
    until(lambda: "tool search" in log.read_text("utf-8"))
    expected = re.escape(LOGGED.strip()).replace(r"12\ ms", r"\d+\ ms")
    assert re.search(expected, log.read_text("utf-8"))
