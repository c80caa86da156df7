"""The configuration shipped for Context Gateway points at paths that the service answers."""

from pathlib import Path

import pytest

from tests.client.upstream import TOOLS
from tests.support import Process
from toolscout.client import Selector
from toolscout.discovery import load

FOLDER = Path(__file__).parents[2] / "deploy" / "proxies" / "context-gateway"


@pytest.mark.parametrize(("name", "strategy"), [("v0.4", "api"), ("v0.5", "tool-search")])
def test_the_endpoint_answers(
    server: Process, monkeypatch: pytest.MonkeyPatch, name: str, strategy: str
):
    monkeypatch.setenv("TOOLSCOUT_URL", server.url)
    monkeypatch.delenv("TOOLSCOUT_API_KEY", raising=False)
    config = load(FOLDER / f"{name}.yaml")
    assert (config.strategy, config.api.timeout, config.api.api_key) == (strategy, 2.0, "")
    with Selector(config.api.endpoint, config.api.api_key, timeout=10) as selector:
        selection = selector.select("send a mail", TOOLS, config.max_search_results)
    assert selection.names[0] == "send_email"


def test_the_files_work_without_any_variable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TOOLSCOUT_URL", raising=False)
    for path in FOLDER.glob("*.yaml"):
        assert load(path).api.endpoint.startswith("http://127.0.0.1:8080/")
