"""`toolscout proxy --config`: the gateway's own file, its figures, its log and its start."""

import argparse
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.client.upstream import Exchange, peer
from tests.gateway.proxies import proxy
from tests.support import Process, free_port, toolscout, until
from tests.turns.model import PHANTOM, ScriptedModel
from tests.turns.shapes import BY_NAME
from toolscout.gateway.commands import add_proxy_arguments
from toolscout.turns.config import ApiConfig, DiscoveryConfig

OPENAI = BY_NAME["openai"]
TOOLS = [OPENAI.tool(f"tool_{number}", f"Does thing {number}") for number in range(30)]
TOOLS.append(OPENAI.tool("send_email", "Send an email to somebody"))


def configured(tmp_path: Path, **keys: Any) -> str:
    """Write a file of the gateway; JSON is YAML too."""
    file = tmp_path / "gateway.yaml"
    section = {"enabled": True, "strategy": "api", **keys}
    file.write_text(json.dumps({"server": {"port": 1}, "pipes": {"tool_discovery": section}}))
    return str(file)


def ask(running: Process, tools: list[Any] = TOOLS, text: str = "write to somebody") -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": text}], "tools": tools}
    answer = httpx2.post(f"{running.url}/v1/chat/completions", json=request, timeout=30)
    assert answer.status_code == 200, answer.text


def shown(model: ScriptedModel) -> list[str]:
    """Return the names of the tools in the first request that the model got."""
    return OPENAI.names(model.requests[0])


UNFLAGGED = {"api", "enabled", "provider", "enable_search_fallback"}
"""Keys that decide nothing, or what the strategy decides, or have flags of other names."""


def test_every_key_that_decides_something_is_a_flag_of_the_same_name():
    parser = argparse.ArgumentParser()
    add_proxy_arguments(parser)
    flags = set(parser._option_string_actions)
    keys = set(DiscoveryConfig.__struct_fields__) - UNFLAGGED
    assert {f"--{key.replace('_', '-')}" for key in keys} <= flags
    assert set(ApiConfig.__struct_fields__) == {"endpoint", "api_key", "timeout"}
    assert {"--selector", "--selector-timeout"} <= flags


def test_the_keys_of_the_file_hold_and_flags_go_before_them(tmp_path):
    keys = {
        "strategy": "relevance",
        "min_tools": 3,
        "max_tools": 4,
        "always_keep": ["tool_7", "tool_9"],
    }
    model = ScriptedModel()
    with peer(model) as upstream:
        with proxy(upstream.url, "--config", configured(tmp_path, **keys)) as running:
            ask(running)
        assert len(shown(model)) == 4 + 2  # what is always shown takes no place
        assert {"tool_7", "tool_9"} < set(shown(model))
        model.requests.clear()
        flags = ["--max-tools", "6", "--always-keep", "tool_8", "--min-tools", "1"]
        with proxy(upstream.url, "--config", configured(tmp_path, **keys), *flags) as running:
            ask(running)
        assert len(shown(model)) == 6 + 1
        assert "tool_8" in shown(model)


def test_the_file_says_how_many_tools_are_few_and_where_the_service_is(tmp_path):
    model = ScriptedModel()
    with peer(model) as upstream, peer(lambda exchange: exchange.select("send_email")) as service:
        file = configured(tmp_path, defer_above=40)
        with proxy(upstream.url, "--config", file, selector=service.url) as running:
            ask(running)
        assert shown(model) == OPENAI.names({"tools": TOOLS})
        model.requests.clear()
        file = configured(tmp_path, defer_above=3, api={"endpoint": service.url})
        with proxy(upstream.url, "--config", file, selector="") as running:
            ask(running)
        assert shown(model) == [PHANTOM]
        assert OPENAI.names(model.requests[1]) == [PHANTOM, "send_email"]


@pytest.mark.parametrize(("is_from_file", "first"), [(True, []), (False, ["call_tool"])])
def test_every_find_is_declared_only_where_a_file_does_not_say_otherwise(
    tmp_path, is_from_file, first
):
    model = ScriptedModel()
    with peer(model) as upstream, peer(lambda exchange: exchange.select("send_email")) as service:
        flags = ["--config", configured(tmp_path)] if is_from_file else ["--strategy", "api"]
        with proxy(upstream.url, *flags, selector=service.url) as running:
            ask(running)
    assert OPENAI.names(model.requests[1]) == [PHANTOM, *first, "send_email"]


@pytest.mark.parametrize(
    ("keys", "flags", "said"),
    [
        ({"stratgy": "api"}, [], "stratgy: unknown key; did you mean strategy?"),
        ({"strategy": "apo"}, [], "strategy: expected one of passthrough"),
        ({"min_tools": "few"}, [], "min_tools: expected a whole number"),
        ({}, ["--max-tools", "many"], "max_tools: expected a whole number"),
        ({}, ["--selector-timeout", "soon"], "api.timeout: expected a duration like 2s"),
        ({}, ["--rollout", "percent:200"], "rollout"),
        ({}, ["--dispatch", "often"], "dispatch: "),
    ],
)
def test_a_wrong_key_is_an_error_that_names_it(tmp_path, keys, flags, said):
    file = configured(tmp_path, **keys)
    done = toolscout("proxy", "--upstream", "http://127.0.0.1:9", "--config", file, *flags)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_file_that_is_not_there_is_an_error_that_names_it():
    done = toolscout("proxy", "--upstream", "http://127.0.0.1:9", "--config", "/nowhere.yaml")
    assert done.returncode == 2
    assert "/nowhere.yaml" in done.stderr


def test_figures_and_health_have_a_port_of_their_own():
    port = free_port()
    model = ScriptedModel()
    with (
        peer(model) as upstream,
        peer(lambda exchange: exchange.select("send_email")) as service,
        proxy(upstream.url, "--metrics-port", str(port), selector=service.url) as running,
    ):
        ask(running)
        own = f"http://127.0.0.1:{port}"
        assert httpx2.get(f"{own}/healthz").json() == {"status": "ok"}
        figures = httpx2.get(f"{own}/metrics")
        assert figures.headers["content-type"].startswith("text/plain")
        assert 'toolscout_client_searches_total{reason="",status="selected"} 1.0' in figures.text
        assert "process_resident_memory_bytes" in figures.text
        asked = len(upstream.requests)
        assert httpx2.get(f"{own}/v1/models").status_code == 404
        assert len(upstream.requests) == asked


def test_the_log_is_json_lines_and_begins_with_what_goes_where():
    with (
        peer(ScriptedModel()) as upstream,
        peer(lambda exchange: exchange.select("send_email")) as service,
        proxy(f"{upstream.url}/v1", selector=service.url) as running,
    ):
        ask(running)
        until(lambda: "turn finished" in running.stderr)
        lines = [json.loads(line) for line in running.log().splitlines()]
    first = next(line for line in lines if line["message"].startswith("started"))
    assert f"before {upstream.url}/v1, strategy hybrid-first" in first["message"]
    assert f"the service at {service.url} is ready" in first["message"]
    turn = next(line for line in lines if "turn" in line and line["turn"]["stage"] == "finished")
    assert turn["turn"]["offered"] == len(TOOLS)
    assert turn["level"] == "info"


def test_it_starts_without_the_service_and_says_what_that_means():
    with proxy("http://127.0.0.1:9/v1", selector="http://127.0.0.1:9") as running:
        until(lambda: "does not answer (ConnectError)" in running.stderr)
        assert "requests go out with every tool" in running.stderr


def test_a_service_that_never_ends_its_answer_does_not_keep_it_from_starting():
    def drip(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while not exchange.stopping.wait(0.05):
            exchange.send(b" ")

    with peer(drip) as service, proxy("http://127.0.0.1:9/v1", selector=service.url) as running:
        assert httpx2.get(f"{running.url}/healthz", timeout=30).status_code == 200
        assert "does not answer (TimeoutError)" in running.stderr


def _captures(data: Path) -> list[dict[str, Any]]:
    cases = json.loads((data / "wire" / "expectations.json").read_bytes())
    return [case for case in cases if case["hard"]["status"] == 200]


def test_captured_searches_through_the_proxy_bring_what_they_expect(server, data, tmp_path):
    """The model of a conversation with the captured tools makes the captured search."""
    model = ScriptedModel()
    with peer(model) as upstream:
        for case in _captures(data):
            body = json.loads((data / "wire" / f"{case['id']}.body.json").read_bytes())
            names = list(dict.fromkeys(tool["name"] for tool in body["tools"]))
            about = {tool["name"]: tool.get("description") or "" for tool in body["tools"]}
            pattern = body.get("pattern", body.get("query"))
            model.query, model.wants = pattern, "a tool that nobody has"
            keys = {
                "always_keep": case.get("always_keep", []),
                "max_search_results": body.get("top_k", body.get("max_tools")),
                "defer_above": 0,
                "restore_on_no_match": False,
            }
            model.requests.clear()
            file = configured(tmp_path, **keys)
            with proxy(upstream.url, "--config", file, selector=server.url) as running:
                ask(running, [OPENAI.tool(name, about[name]) for name in names])
            brought = set(model.seen(OPENAI)[-1]) - {PHANTOM}
            hard = case["hard"]
            assert set(hard.get("contains_always_keep_that_is_in_tools", [])) <= brought, case["id"]
            assert not set(hard["must_not_contain"]) & brought, case["id"]
            assert brought <= set(names)
            wanted = set(case.get("quality", {}).get("should_include_any", ()))
            assert not wanted or wanted & brought, case["id"]


def test_a_service_below_a_path_is_asked_below_it_whether_it_is_ready():
    paths: list[str] = []

    def script(exchange: Any) -> None:
        paths.append(exchange.path)
        exchange.answer(b"{}")

    with peer(script) as service:
        selector = f"{service.url}/gate/v1/tool-discovery/search"
        with proxy("http://127.0.0.1:9", selector=selector) as running:
            until(lambda: "is ready" in running.stderr)
    assert paths == ["/gate/readyz"]
