"""The LiteLLM callback, with the little of LiteLLM that it imports replaced."""

import ast
import asyncio
import importlib
import json
import logging
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import httpx2
import pytest

import toolscout
from tests.client.upstream import Exchange, peer
from tests.turns.shapes import ABOUT, SHAPES, Json, Said, tools_of
from toolscout.turns.drivers.exchange import ProviderError

OPENAI, ANTHROPIC = SHAPES[:2]
INTEGRATIONS = Path(toolscout.__file__).parent / "integrations"
KEY = "sk-of-the-provider"
CALLER = SimpleNamespace(api_key="k")
OWNED = (
    "litellm_call_id litellm_logging_obj proxy_server_request secret_fields shared_session".split()
)
"""Arguments that LiteLLM makes for one forward."""

SEARCH = ANTHROPIC.response(Said(calls=(("c", "gateway_search_tools", {"query": "read_file"}),)))


class Router:
    """Answers forwards in order, and keeps the arguments of each."""

    def __init__(self, *answers: Json | Exception) -> None:
        self.answers = list(answers)
        self.forwards: list[Json] = []
        self.models = ["anthropic/claude-3-5-sonnet"]
        """Those of the deployments behind every name."""
        self.settings: Json = {}
        """Further ones of each deployment."""
        self.fallbacks: list[Json] = []

    def get_model_list(self, model_name: str | None) -> list[Json]:
        return [{"litellm_params": {"model": model, **self.settings}} for model in self.models]

    async def aanthropic_messages(self, **arguments: Any) -> Json:
        self.forwards.append(arguments)
        answer = self.answers.pop(0)
        for message in arguments["messages"]:
            message.clear()  # a router may do with its arguments what it likes
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def router() -> Router:
    return Router()


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch, router: Router) -> ModuleType:
    parts = {name: ModuleType(name) for name in ("litellm", "litellm.integrations")}
    logger: Any = ModuleType("litellm.integrations.custom_logger")
    logger.CustomLogger = object
    events: Any = ModuleType("litellm.types.llms.openai")
    events.GenericEvent = dict
    server: Any = ModuleType("litellm.proxy.proxy_server")
    server.llm_router = router
    parts |= {module.__name__: module for module in (logger, events, server)}
    for name in ("litellm.types", "litellm.types.llms", "litellm.proxy"):
        parts[name] = ModuleType(name)
    for name, module in parts.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "toolscout.integrations.litellm", raising=False)
    log = logging.getLogger("toolscout")
    for attribute in ("handlers", "propagate"):
        monkeypatch.setattr(log, attribute, getattr(log, attribute))
    monkeypatch.setattr(log, "level", log.level)
    imported = importlib.import_module("toolscout.integrations.litellm")
    monkeypatch.delitem(sys.modules, "toolscout.integrations.litellm")
    return imported


def received(body: Json, **added: Any) -> Json:
    """Return a request as callbacks get it: with what LiteLLM has put into it."""
    return {
        **body,
        "litellm_call_id": "1",
        "litellm_logging_obj": object(),
        "proxy_server_request": {"body": dict(body), "headers": {}},
        "secret_fields": {"raw_headers": {"authorization": "Bearer sk-of-the-proxy"}},
        **added,
    }


def request() -> Json:
    return ANTHROPIC.request("read a file", tools_of(ANTHROPIC))


async def turn(made: Any, data: Json, response: Json) -> Json:
    """One request through the hooks, with what LiteLLM adds between them."""
    try:
        data = await made.async_pre_call_hook(CALLER, None, data, "anthropic_messages")
        data["deployment"] = SimpleNamespace(litellm_params={"api_key": KEY})
        data["shared_session"] = object()
        answer: Json = await made.async_post_call_success_hook(data, CALLER, response)
        return answer
    finally:
        await made.discovery.aclose()


@pytest.mark.parametrize(("value", "learns"), [("off", False), ("on", True), (None, True)])
def test_learning_can_be_switched_off(hook, monkeypatch, value, learns):
    monkeypatch.delenv("TOOLSCOUT_LEARN", raising=False)
    if value is not None:
        monkeypatch.setenv("TOOLSCOUT_LEARN", value)
    assert (hook.ToolscoutHook().discovery.reporter is not None) == learns


def test_the_environment_goes_before_the_file_and_the_file_before_defaults(
    hook, monkeypatch, tmp_path
):
    file = tmp_path / "gateway.yaml"
    file.write_text("strategy: hybrid-first\nenabled: true\ndefer_above: 40\n")
    monkeypatch.setenv("TOOLSCOUT_CONFIG", str(file))
    config = hook.ToolscoutHook().discovery.config
    assert (config.defer_above, config.ask_every_turn) == (40, True)
    monkeypatch.setenv("TOOLSCOUT_DEFER_ABOVE", "7")
    monkeypatch.setenv("TOOLSCOUT_DEFER_ABOVE_TOKENS", "900")
    monkeypatch.setenv("TOOLSCOUT_ASK_EVERY_TURN", "off")
    config = hook.ToolscoutHook().discovery.config
    assert (config.defer_above, config.defer_above_tokens) == (7, 900)
    assert config.ask_every_turn is False


def run(hook: ModuleType, monkeypatch: pytest.MonkeyPatch, data: Json, response: Json) -> Json:
    with peer(lambda exchange: exchange.select("read_file")) as fake:
        monkeypatch.setenv("TOOLSCOUT_ENDPOINT", fake.url)
        return asyncio.run(turn(hook.ToolscoutHook(), data, response))


def test_a_forward_has_the_arguments_of_the_caller_and_none_of_the_proxys(
    hook, router, monkeypatch
):
    body = {**request(), "max_tokens": 9, "thinking": {"type": "adaptive"}, "guided_json": {"a": 1}}
    metadata = {"user_api_key": "hashed"}
    router.answers.append(ANTHROPIC.response(Said("done")))
    data = received(body, litellm_metadata=metadata, timeout=5)
    run(hook, monkeypatch, data, SEARCH)
    (forward,) = router.forwards
    assert set(forward) == {*body, "litellm_metadata", "timeout"}
    assert forward["guided_json"] == {"a": 1}
    assert forward["litellm_metadata"] == metadata
    assert KEY not in repr(forward)


def test_a_field_of_the_caller_that_has_the_name_of_a_live_object_is_not_forwarded(
    hook, router, monkeypatch
):
    body = {**request(), "secret_fields": "x", "litellm_logging_obj": "x", "shared_session": "x"}
    router.answers.append(ANTHROPIC.response(Said("done")))
    run(hook, monkeypatch, received(body), SEARCH)
    (forward,) = router.forwards
    assert forward.keys().isdisjoint(OWNED)


@pytest.mark.parametrize(
    "own", ["api_key", "api_base", "deployment", "litellm_params", "user_config"]
)
def test_a_request_with_its_own_connection_is_left_alone(hook, router, monkeypatch, own):
    body = {**request(), own: "x"}
    answer = ANTHROPIC.response(Said("done"))
    data = received(body)
    assert run(hook, monkeypatch, data, answer) is answer
    assert data["tools"] == body["tools"]
    assert router.forwards == []


def test_the_original_survives_what_the_router_does_to_a_forward(hook, router, monkeypatch):
    body = request()
    router.answers += [RuntimeError("refused"), ANTHROPIC.response(Said("done"))]
    run(hook, monkeypatch, received(body), SEARCH)
    assert len(router.forwards) == 2
    assert router.forwards[1]["tools"] == body["tools"]
    assert body["messages"] == request()["messages"]


@pytest.mark.parametrize("pins", [[], ["deploy_app"], ["deploy_app", "create_db"]], ids=len)
def test_pins_take_no_place_of_what_is_found(hook, router, monkeypatch, pins):
    def script(exchange: Exchange) -> None:
        offered = {tool["name"] for tool in exchange.json["tools"]}
        ranked = [name for name in (*pins, *ABOUT) if name in offered]
        exchange.select(*ranked[: exchange.json["top_k"]])

    monkeypatch.setenv("TOOLSCOUT_ALWAYS_KEEP", ",".join(pins))
    monkeypatch.setenv("TOOLSCOUT_TOP_K", "2")
    with peer(script) as fake:
        monkeypatch.setenv("TOOLSCOUT_ENDPOINT", fake.url)
        (tools,) = prepared(hook, received(request()))
    _, _, *shown = [tool["name"] for tool in tools]
    assert sorted(shown) == sorted(["search_code", "read_file", *pins])


CLAUDE = "anthropic/claude-sonnet-4-5"


def prepared(
    hook: ModuleType, *requests: Json, refused: str = "", param: str | None = None
) -> list[list[Json]]:
    """Return the tools with which LiteLLM makes the first forward of each request.

    Each is `refused` by its provider in these words.
    """

    async def prepare() -> list[list[Json]]:
        made: Any = hook.ToolscoutHook()
        tools = []
        for data in requests:
            sent = await made.async_pre_call_hook(CALLER, None, data, "anthropic_messages")
            tools.append(sent["tools"])
            told = {"message": refused, "param": param}
            error = ProviderError(httpx2.Response(400, json={"error": told}))
            await made.async_post_call_failure_hook(data, error, CALLER)
        await made.discovery.aclose()
        return tools

    return asyncio.run(prepare())


@pytest.mark.parametrize(
    ("models", "fallbacks", "is_native"),
    [
        ([CLAUDE], [], True),
        ([CLAUDE, CLAUDE], [], True),
        (["anthropic/claude-3-5-sonnet"], [], False),
        ([CLAUDE, "anthropic/claude-3-5-sonnet"], [], False),
        (["bedrock/anthropic.claude-sonnet-4-5"], [], False),
        ([CLAUDE], [{"m": ["another"]}], False),
        ([], [], False),
    ],
)
def test_tools_are_loaded_by_a_deployment_that_can(
    hook, router, monkeypatch, models, fallbacks, is_native
):
    router.models, router.fallbacks = models, fallbacks
    with peer(lambda exchange: exchange.select("read_file")) as fake:
        monkeypatch.setenv("TOOLSCOUT_ENDPOINT", fake.url)
        (tools,) = prepared(hook, received(request()))
    assert any("defer_loading" in tool for tool in tools) == is_native


@pytest.mark.parametrize(
    ("words", "still"),
    [("overloaded", True), ("tools.1.defer_loading: Extra inputs are not permitted", False)],
)
def test_a_deployment_that_refuses_deferred_tools_is_sent_none_any_more(
    hook, router, monkeypatch, words, still
):
    router.models = [CLAUDE]
    with peer(lambda exchange: exchange.select("read_file")) as fake:
        monkeypatch.setenv("TOOLSCOUT_ENDPOINT", fake.url)
        sent = prepared(hook, received(request()), received(request()), refused=words)
    assert [any("defer_loading" in tool for tool in tools) for tools in sent] == [True, still]


def test_a_tool_that_a_provider_has_refused_is_sent_no_more(hook, monkeypatch):
    told = {"refused": "Invalid schema for function 'read_file'", "param": "tools[2].parameters"}
    with peer(lambda exchange: exchange.select("read_file")) as fake:
        monkeypatch.setenv("TOOLSCOUT_ENDPOINT", fake.url)
        sent = prepared(hook, received(request()), received(request()), **told)
    assert ["read_file" in json.dumps(tools) for tools in sent] == [True, False]


@pytest.mark.parametrize("others", [0, 20], ids=["few", "many"])
def test_a_call_comes_back_with_the_tools_own_name_and_keys(hook, router, monkeypatch, others):
    own = {"name": "read.calls", "input_schema": {"properties": {"uids[]": {}}}}
    tools = [own, *(ANTHROPIC.tool(f"read_{number}", "Read it") for number in range(others))]
    answer = ANTHROPIC.response(Said(calls=(("c", "read_calls", {"uids_": [1]}),)))
    with peer(lambda exchange: exchange.select("read_calls")) as fake:
        monkeypatch.setenv("TOOLSCOUT_ENDPOINT", fake.url)
        body = ANTHROPIC.request("read calls", tools)
        final = asyncio.run(turn(hook.ToolscoutHook(), received(body), answer))
    assert ANTHROPIC.read(final).calls == (("c", "read.calls", {"uids[]": [1]}),)


@pytest.mark.parametrize(
    ("model", "settings", "variable", "is_sent"),
    [
        ("anthropic/claude-3-5-sonnet", {}, "", False),
        ("anthropic/claude-3-5-sonnet", {"api_base": "http://127.0.0.1:9"}, "", True),
        ("anthropic/claude-3-5-sonnet", {}, "http://127.0.0.1:9", True),
        ("my-model", {"custom_llm_provider": "anthropic"}, "", False),
        ("openai/gpt-4o", {}, "", True),
        ("hosted_vllm/qwen3", {}, "", True),
    ],
)
def test_a_tool_that_the_vendor_refuses_is_left_out_where_the_vendor_is_asked(
    hook, router, monkeypatch, model, settings, variable, is_sent
):
    router.models, router.settings = [model], settings
    body = request()
    body["tools"].append(ANTHROPIC.tool("read.file", "Read it"))
    with peer(lambda exchange: exchange.select("read.file", "read_file")) as fake:
        monkeypatch.setenv("TOOLSCOUT_ENDPOINT", fake.url)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", variable)
        (tools,) = prepared(hook, received(body))
    assert ("read.file" in json.dumps(tools)) == is_sent


def test_the_log_of_the_client_is_written_by_the_proxys_logger(hook, monkeypatch, caplog):
    monkeypatch.setenv("TOOLSCOUT_ENDPOINT", "http://127.0.0.1:9")
    proxy_log = logging.getLogger("LiteLLM Proxy")
    monkeypatch.setattr(proxy_log, "handlers", [caplog.handler])
    monkeypatch.setattr(proxy_log, "propagate", False)
    hook.ToolscoutHook()
    logging.getLogger("toolscout.client").warning("of the client")
    logging.getLogger("toolscout.client").info("not wanted")
    assert caplog.messages == ["of the client"]


def test_integrations_import_the_client_and_nothing_else_of_toolscout():
    for file in INTEGRATIONS.glob("*.py"):
        imported = [
            node.module
            for node in ast.walk(ast.parse(file.read_text("utf-8")))
            if isinstance(node, ast.ImportFrom) and node.module
        ]
        ours = [name for name in imported if name.startswith("toolscout")]
        rooms = ("client", "common", "integrations", "turns")
        allowed = tuple(f"toolscout.{room}" for room in rooms)
        assert all(name.startswith(allowed) for name in ours)
