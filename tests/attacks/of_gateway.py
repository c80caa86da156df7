"""Servers behind the MCP gateway that mean harm, while another one is used."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx2

from evals.speed.processes import own_mib
from tests.attacks.attack import Attack, half_more
from tests.attacks.stalls import Ask
from tests.client.upstream import peer
from tests.gateway.mcp.bombs import Bomb
from tests.gateway.mcp.hosts import cache_in, stdio_server, write
from tests.support import Process, answers, free_port, started, until

PATH = "/mcp"
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "attacks", "version": "1"},
}
LASTS_S = 5.0
"""How long an attack without an end is watched."""


@contextmanager
def _gateway(odd: dict[str, Any], folder: Path) -> Iterator[Process]:
    """Start a gateway before a hostile server and an honest one."""
    servers = {"odd": odd, "notes": stdio_server()}
    config = str(write(folder, servers))
    port = free_port()
    command = ["-m", "toolscout", "mcp", "--config", config, "--http", f"127.0.0.1:{port}"]
    with started(folder, port, *command, **cache_in(folder)) as server:
        until(lambda: answers(port))
        yield server


@contextmanager
def _before_a_bomb(folder: Path) -> Iterator[Process]:
    """Start a gateway before a server over HTTP whose answers to calls are 400 MiB."""
    bomb = Bomb("tools/call", mib=400)
    with peer(bomb) as fake, _gateway({"url": f"{fake.url}/mcp"}, folder) as server:
        yield server


def _session(server: Process) -> dict[str, str]:
    """Open a session; returns the headers of its requests."""
    answer = server.client.post(PATH, json=_message("initialize", HELLO), headers=JSON)
    return JSON | {"mcp-session-id": answer.headers["mcp-session-id"]}


def _message(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def _call(tool: str, **arguments: Any) -> dict[str, Any]:
    inner = {"name": tool, "arguments": arguments}
    return _message("tools/call", {"name": "call_tool", "arguments": inner})


def _others(server: Process) -> tuple[Ask, Ask]:
    """Ping the gateway, and call a tool of the honest server."""
    headers = _session(server)
    used = Ask("POST", PATH, json.dumps(_call("notes__list_notes")).encode(), headers, b"bread")
    ping = json.dumps(_message("ping", {})).encode()
    probe = Ask("POST", PATH, ping, _session(server), b"result")  # its ids are its own

    def is_ready() -> bool:
        return b"bread" in server.client.post(PATH, content=used.body, headers=headers).content

    until(is_ready)
    return probe, used


def _attack(server: Process, how: Mapping[str, Any]) -> None:
    """Call the hostile server, and wait while it does what it does, with an answer or without."""
    began = time.monotonic()
    with suppress(httpx2.TimeoutException), server.new_client(None) as client:
        headers, timeout = _session(server), httpx2.Timeout(LASTS_S)
        client.post(PATH, json=_call("odd__work", **how), headers=headers, timeout=timeout)
    time.sleep(max(0.0, began + LASTS_S - time.monotonic()))


def of_gateway() -> Iterator[Attack]:
    """List the attacks of a server behind the gateway."""
    many = {"HARM": "many", "WAITS": "1"}
    harms: dict[str, tuple[Mapping[str, str], Mapping[str, Any]]] = {
        "never answers": ({"HARM": "sulk", "PIDS": "/dev/null"}, {}),
        "floods standard error": ({"HARM": "flood"}, {"how": "flood"}),
        "a line without end, of standard error": ({"HARM": "stderr"}, {"how": "endless"}),
        "a line without end": ({"HARM": "stdout"}, {"how": "endless"}),
        "20,000 tools": (many | {"MANY": "20000"}, {"how": "begin"}),
        "100,000 tools": (many | {"MANY": "100000"}, {"how": "begin"}),
        "odd names": ({"HARM": "names", "WAITS": "1"}, {"how": "begin"}),
        "changes 1,000 times": ({"HARM": "pull"}, {"how": "pull", "times": 1_000}),
        "nested answer": ({}, {"how": "deep"}),
        "dense answer": ({}, {"how": "dense"}),
        "long answer": ({}, {"how": "long"}),
    }
    attacks = {
        name: (partial(_gateway, stdio_server("hostile", env=dict(env))), how)
        for name, (env, how) in harms.items()
    }
    attacks["an answer of 400 MiB in 400 KiB"] = (_before_a_bomb, {})
    for name, (start, how) in attacks.items():
        yield Attack(
            f"gateway: {name}",
            partial(_attack, how=how),
            start=start,
            others=_others,
            resident=own_mib,
            most_mib=half_more,
        )
