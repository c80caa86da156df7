"""The service below a path, by the lines for nginx in docs/operations.md."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from evals import programs
from tests import debian
from tests.support import TOOLS, Process, answers, free_port
from toolscout.client import Selector

pytestmark = pytest.mark.integration

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"


@pytest.fixture
def base(server: Process, tmp_path: Path) -> Iterator[str]:
    """Yield the address below which nginx has the service."""
    debian.need(nginx="nginx-light")
    (lines,) = re.findall(r"^```nginx\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
    assert "http://127.0.0.1:8080/" in lines
    port = free_port()
    folders = "".join(
        f"{kind}_temp_path {tmp_path}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config = tmp_path / "nginx.conf"
    config.write_text(
        f"pid {tmp_path}/pid; error_log stderr warn; events {{}}\n"
        f"http {{ access_log off; {folders} server {{ listen 127.0.0.1:{port};\n"
        f"{lines.replace(':8080/', f':{server.port}/')} }} }}\n",
        "utf-8",
    )
    binary = shutil.which("nginx") or "/usr/sbin/nginx"
    command = [binary, "-c", str(config), "-g", "daemon off;"]
    with programs.running(command, lambda: answers(port)):
        yield f"http://127.0.0.1:{port}/toolscout"


def test_a_client_finds_tools_by_the_whole_address(base: str):
    with Selector(f"{base}/v1/tool-discovery/search") as selector:
        assert selector.select("read a file", TOOLS, top_k=1).names == ["read_file"]


def test_the_playground_works(browser: Browser, base: str):
    tab = browser.new_page()
    tab.goto(f"{base}/")
    expect(tab.locator("#summary .names .name").first).to_have_text("ci_get_log")
    tab.close()
