"""A host with a key is answered as if there were nothing but what its key may see."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp_types
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolscout.contract.requests import Filters
from toolscout.gateway.callers import CallerCheck
from toolscout.gateway.mcp.cache import ToolPages
from toolscout.gateway.mcp.connection import Connection
from toolscout.gateway.mcp.keys import HostKeys
from toolscout.gateway.mcp.listing import Listing
from toolscout.gateway.mcp.requests import Requests
from toolscout.gateway.mcp.served_skills import GetSkillResult, Skill
from toolscout.gateway.mcp.servers import Config, ServerOptions, StdioServer
from toolscout.gateway.mcp.view import View
from toolscout.gateway.mcp.web import PATH, Callers, Sessions
from toolscout.metatools.gate import RiskGate
from toolscout.server.http.auth import Keyring
from toolscout.serving.bodies import Bodies
from toolscout.text.domains import load_bundled
from toolscout.tools.conversion import read_tools
from toolscout.tools.filters import filters_of, is_passing

KEY = "key-of-a-host-0123456789abcdefghijkl"
HEADERS = {
    "Authorization": f"Bearer {KEY}",
    "Accept": "application/json, text/event-stream",
    "Host": "127.0.0.1",
}
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "x", "version": "1"},
}
PINNED = ("git__git_log", "mail__send_mail")
GATE = RiskGate()

OWN = {
    "git": {
        "git_log": "Show the commits of a branch",
        "git_push": "Push commits to a remote repository",
        "git_reset": "Delete commits of a branch",
    },
    "mail": {
        "list_mails": "List the mails of a folder",
        "send_mail": "Send a mail to a person",
        "delete_mail": "Delete a mail",
    },
    "git.api": {"get_issue": "Get an issue", "create_issue": "Create an issue"},
    "db": {"query": "Query rows of a table", "drop_table": "Drop a table of a database"},
    "docs": {},
}
"""The tools of each server, with what they do."""

NAMES = [f"{server}__{name}" for server, tools in OWN.items() for name in tools]


class Answering(Connection):
    """A server that answers every call without running."""

    async def wake(self) -> None:
        """Be awake."""

    async def request(self, method: str, *arguments: Any, **_: Any) -> Any:
        """Say which server was asked, and for what."""
        text = f"{self.name}: {method} {arguments[:2]}"
        if method == "read_resource":
            content = mcp_types.TextResourceContents(uri=arguments[0], text=text)
            return mcp_types.ReadResourceResult(contents=[content])
        if method == "get_prompt":
            return mcp_types.GetPromptResult(messages=[], description=text)
        if method == "pass_completion":
            return mcp_types.CompleteResult(completion=mcp_types.Completion(values=[text]))
        if method == "get_skill":
            return GetSkillResult(skill=make_skill(self.name))
        return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text=text)])


def make_skill(server: str) -> Skill:
    """Return the skill of a server."""
    return Skill(uri=f"skill://{server}/SKILL.md", frontmatter={"name": server}, resources=[])


def connect(server: str, tools: dict[str, str]) -> Connection:
    """Return a server with some tools, a resource and a prompt."""

    async def changed() -> None:
        """Nobody is told."""

    made = Answering(server, StdioServer(command=server), changed)
    schema: dict[str, Any] = {"type": "object"}
    made.listed = ToolPages(
        tools=tuple(
            mcp_types.Tool(name=name, description=about, input_schema=schema)
            for name, about in tools.items()
        ),
        resources=(mcp_types.Resource(uri=f"file:///{server}", name=server),),
        prompts=(mcp_types.Prompt(name=f"ask_{server}"),),
        skills=(make_skill(server),),
    )
    made.reason = None
    made.tried.set()
    return made


def make_view(connections: list[Connection], **options: Any) -> View:
    """Return what hosts of a gateway with these servers see."""
    servers = {one.name: one.server for one in connections}
    config = Config(servers, ServerOptions(pinned=PINNED, **options))
    view = View(config, "memory")
    view.gate = GATE
    view.connections = connections
    listing = Listing(connections, config)
    view.index(listing)
    view.use(config, listing)
    view.begun.set()
    view.ready.set()
    return view


@asynccontextmanager
async def serving(view: View, keys: HostKeys | None) -> AsyncIterator[httpx2.AsyncClient]:
    """Yield a client of a gateway over HTTP, with a session."""
    served = Requests(view, is_keyed=True).server.streamable_http_app(
        streamable_http_path=PATH, host=""
    )
    check = CallerCheck("127.0.0.1", None, None, "")
    application = Callers(Sessions(served), check, Bodies(60.0), keys)
    async with (
        served.router.lifespan_context(served),
        httpx2.AsyncClient(
            transport=httpx2.ASGITransport(application), base_url="http://127.0.0.1"
        ) as client,
    ):
        client.headers.update(HEADERS)
        hello = await post(client, "initialize", HELLO)
        client.headers["Mcp-Session-Id"] = hello.headers["mcp-session-id"]
        yield client


async def post(client: httpx2.AsyncClient, method: str, params: Any) -> httpx2.Response:
    """Send one request."""
    asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return await client.post(PATH, json=asked)


def list_requests() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield requests of all kinds: for what there is, what is like it, and what is not there."""
    for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
        yield method, {}
    for method in ("skills/list", "ping"):
        yield method, {}
    meta: list[dict[str, Any]] = [
        {"name": "search_tools", "arguments": {"query": "delete something", "top_k": 50}},
        {"name": "search_tools", "arguments": {"query": "git_push", "namespace": "git"}},
        {"name": "search_tools", "arguments": {"query": "a mail", "domain": "comms"}},
        {"name": "search_tools", "arguments": {"query": "x", "namespace": "nowhere"}},
        {"name": "search_tools", "arguments": {"names": NAMES}},
        {"name": "get_tool_schemas", "arguments": {"names": [*NAMES, "drop_tabel", "git_psh"]}},
        {"name": "list_tools_meta", "arguments": {"detail": "brief", "page_size": 100}},
    ]
    yield from (("tools/call", one) for one in meta)
    for name in (*NAMES, *(name[:-1] for name in NAMES), "push", "ask", "issue"):
        yield "tools/call", {"name": "call_tool", "arguments": {"name": name, "arguments": {}}}
        yield "tools/call", {"name": name, "arguments": {}}
        yield "resources/read", {"uri": f"toolscout://tool/{name}"}
        yield "tools/call", {"name": "get_required_keys_for_tool", "arguments": {"name": name}}
    for server in (*OWN, "nowhere"):
        yield "resources/read", {"uri": f"toolscout://{server}/file:///{server}"}
        yield "skills/get", {"uri": f"toolscout://{server}/skill://{server}/SKILL.md"}
        yield "prompts/get", {"name": f"{server}__ask_{server}"}
        ref = {"type": "ref/prompt", "name": f"{server}__ask_{server}"}
        yield "completion/complete", {"ref": ref, "argument": {"name": "a", "value": "b"}}
    yield "resources/read", {"uri": "toolscout://overview"}
    yield "resources/read", {"uri": "toolscout://index"}
    for prompt in ("discover", "backend_status", "find_tool"):
        yield "prompts/get", {"name": prompt, "arguments": {"task": "delete a mail"}}


async def ask_all(view: View, keys: HostKeys | None) -> list[tuple[Any, str]]:
    """Return each request with the text of its answer."""
    async with serving(view, keys) as client:
        return [((m, p), (await post(client, m, p)).text) for m, p in list_requests()]


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    """Yield a loop for all examples."""
    with start_blocking_portal() as opened:
        yield opened


some = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True)
tables = st.fixed_dictionaries(
    {},
    optional={
        "namespaces": st.lists(st.sampled_from([*OWN, "none"]), min_size=1, max_size=3),
        "only": some,
        "exclude": some,
        "capabilities": st.sampled_from([["read"], ["write"], ["read", "delete"]]),
        "domains": st.sampled_from([["comms"], ["repo", "data"]]),
        "max_risk": st.sampled_from([["read_only"], ["write_local"], ["write_remote"]]),
    },
).filter(bool)


def write_keys(path: Path, table: dict[str, list[str]]) -> tuple[HostKeys, Filters]:
    """Write a file with a key, and return the keys with its filters."""
    options = "".join(f";{name}={'+'.join(values)}" for name, values in table.items())
    path.write_text(f"team={KEY}{options}\n", "utf-8")
    filters = filters_of(Keyring(path.read_text("utf-8")).keys[0].space)
    assert filters is not None
    return HostKeys(path), filters


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(table=tables)
def test_nothing_tells_that_there_are_tools_which_a_key_may_not_see(
    portal: BlockingPortal, tmp_path: Path, table: dict[str, list[str]]
):
    keys, filters = write_keys(tmp_path / "keys", table)
    whole = portal.call(lambda: _as_coroutine(make_view, [connect(*one) for one in OWN.items()]))
    seen = {
        name
        for name, one in whole.tools.items()
        if is_passing(read_tools([one.shown])[0], filters, load_bundled())
    }
    left = {
        server: {name: about for name, about in tools.items() if f"{server}__{name}" in seen}
        for server, tools in OWN.items()
    }
    spaces = {one.casefold() for one in table.get("namespaces", ())}
    alone = [
        connect(server, tools)
        for server, tools in left.items()
        if tools or {server, server.partition(".")[0]} & spaces
    ]
    highest = table.get("max_risk", ["destructive"])[0]
    twin = portal.call(lambda: _as_coroutine(make_view, alone, max_risk=highest))

    answers = portal.call(ask_all, whole, keys)
    wanted = portal.call(ask_all, twin, None)
    for (asked, answer), (_, as_if_alone) in zip(answers, wanted, strict=True):
        assert answer == as_if_alone, asked
    for (_, params), answer in answers:
        named = {name for name in NAMES if name in answer and name not in json.dumps(params)}
        assert named <= seen


async def _as_coroutine(make: Any, *arguments: Any, **more: Any) -> Any:
    return make(*arguments, **more)
