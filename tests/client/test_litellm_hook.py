"""The hook for LiteLLM, with the little it uses of LiteLLM in its place."""

import asyncio
import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.client.shapes import ABOUT, SHAPES
from tests.client.upstream import peer

HOOK = Path(__file__).parents[2] / "deploy" / "proxies" / "litellm" / "toolscout_hook.py"
OPENAI = SHAPES[0]


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    litellm = ModuleType("litellm")
    logger: Any = ModuleType("litellm.integrations.custom_logger")
    logger.CustomLogger = object
    for name, module in {
        "litellm": litellm,
        "litellm.integrations": ModuleType("litellm.integrations"),
        "litellm.integrations.custom_logger": logger,
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    spec = importlib.util.spec_from_file_location("toolscout_hook", HOOK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("mode", "asked"), [("off", 0), ("dark", 1), ("shadow", 1), ("on", 0)])
def test_a_rollout_that_looks_on_asks_and_changes_nothing(hook, monkeypatch, mode, asked):
    tools = [OPENAI.tool(name, about) for name, about in ABOUT.items()]
    data = {**OPENAI.request("read a file", tools), "litellm_call_id": "1"}
    before = list(data["tools"])

    async def call(url: str) -> Any:
        monkeypatch.setenv("TOOLSCOUT_ENDPOINT", url)
        monkeypatch.setenv("TOOLSCOUT_ROLLOUT", mode)
        made = hook.ToolscoutHook()
        caller = SimpleNamespace(api_key="k")
        try:
            return await made.async_pre_call_hook(caller, None, data, "acompletion")
        finally:
            await made.discovery.aclose()

    with peer(lambda exchange: exchange.select("read_file")) as fake:
        sent = asyncio.run(call(fake.url))
    assert len(fake.requests) == asked
    assert (sent["tools"] == before) == (mode != "on")
