"""Profiles: what a host sees with its own key, and that nothing else is named to it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import mcp_types
import pytest
from fastmcp.client.transports import StreamableHttpTransport
from mcp import MCPError

from tests.gateway.mcp.hosts import Host, connected, inside, listening, stdio_server, text_of, write
from tests.gateway.mcp.test_http import ACCEPTS, HELLO, PING
from tests.support import until

KEYS = {name: f"key-of-{name}-0123456789abcdef0123456789" for name in ("office", "books", "whole")}
SERVERS = {
    "notes": stdio_server(deny=["crash"]),
    "library": stdio_server("library"),
    "no ledger": {"command": "/nonexistent/ledger"},
}
BOOKS = "library", "ledger", "book", "summarise", "moby", "binding"
"""Words that only what the other profile has can bring."""

PROFILES: dict[str, Any] = {
    "office": {
        "key": KEYS["office"],
        "servers": ["notes"],
        "allow": ["notes__*"],
        "deny": ["notes__learn_*"],
        "max_risk": "write_remote",
        "pinned": ["notes__list_notes"],
    },
    "books": {"key": KEYS["books"], "servers": ["library", "no ledger"], "skills": ["skills"]},
}


def config(folder: Path, **changed: Any) -> Path:
    """Write a configuration with two profiles, one of which has a skill."""
    skill = folder / "skills" / "binding"
    skill.mkdir(parents=True, exist_ok=True)
    (skill / "SKILL.md").write_text("How to bind a book anew.", "utf-8")
    profiles = {name: one for name, one in (PROFILES | changed).items() if one is not None}
    return write(folder, SERVERS, profiles=profiles, pinned=["library__find_book"])


def seen_by(folder: Path, profile: str, **options: Any) -> AbstractContextManager[Host]:
    """Return a host with one profile, over stdio."""
    config(folder)
    options = {"pinned": ["library__find_book"], "profiles": PROFILES} | options
    return inside(folder, SERVERS, "--profile", profile, **options)


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """Yield a host of a profile that has one of the servers, in part."""
    with seen_by(tmp_path_factory.mktemp("office"), "office") as started:
        until(lambda: "notes__list_notes" in started.names())
        yield started


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield a gateway that listens, with profiles and a key for everything."""
    folder = tmp_path_factory.mktemp("profiles")
    command = [
        "-m",
        "toolscout",
        "mcp",
        "--config",
        str(config(folder)),
        "--http",
        "127.0.0.1:PORT",
    ]
    with listening(folder, *command, TOOLSCOUT_MCP_KEY=KEYS["whole"]) as (served, _):
        with over_http(served, "whole", folder) as whole:
            until(lambda: {"notes__list_notes", "library__find_book"} <= whole.names())
        yield served


def over_http(
    url: str, key: str, folder: Path, mode: str = "legacy"
) -> AbstractContextManager[Host]:
    return connected(StreamableHttpTransport(url, auth=KEYS.get(key, key)), folder, mode)


def answer(host: Host, ask: Callable[..., Any], *arguments: Any) -> str:
    """Return all that a host gets for a request, errors too."""
    try:
        found = host.portal.call(ask, *arguments)
    except MCPError as error:
        return f"{error.error.code}: {error.error.message}: {error.error.data}"
    parts = found if isinstance(found, list) else [found]
    return "\n".join(str(part) for part in parts)


def told(host: Host) -> str:
    """Return all that a host is told which names nothing itself."""
    client = host.client
    asked: list[tuple[Any, ...]] = [
        (client.list_tools,),
        (client.list_resources,),
        (client.list_resource_templates,),
        (client.list_prompts,),
        (client.read_resource_mcp, "toolscout://overview"),
        (client.read_resource_mcp, "toolscout://index"),
        (client.get_prompt_mcp, "backend_status", {}),
        (client.get_prompt_mcp, "find_tool", {"task": "read it aloud"}),
        *((client.call_tool_mcp, name, call) for name, call in QUESTIONS),
    ]
    return "\n".join([str(client.initialize_result), *(answer(host, *one) for one in asked)])


QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    *(("search_tools", {"query": query}) for query in ("find", "quantum zebra xyzzy", "bind anew")),
    ("search_tools", {"query": "library__find_book library summarise a book", "top_k": 50}),
    ("search_tools", {"query": "x", "namespace": "elsewhere"}),
    ("search_tools", {"names": ["list_note", "sumarise"]}),
    ("list_tools_meta", {"detail": "full", "page_size": 200}),
    ("call_tool", {"name": "nothing"}),
    ("read_skill", {"name": "bindin"}),
]


def guesses(host: Host, server: str, tool: str, skill: str) -> Iterator[str]:
    """Yield what a host gets that guesses names, in every argument there is."""
    client, whole, uri = host.client, f"{server}__{tool}", f"toolscout://{server}/book://shelf/"
    calls: list[tuple[str, dict[str, Any]]] = [
        (whole, {"title": "x"}),
        (tool, {"title": "x"}),
        *(
            (call, {"name": name, "arguments": {}})
            for call in ("call_tool", "call_tool_write")
            for name in (whole, tool, f"{server}.{tool}", whole.upper())
        ),
        ("search_tools", {"names": [whole, tool, skill]}),
        ("search_tools", {"query": "list notes", "namespace": server}),
        ("list_tools_meta", {"namespace": server}),
        ("tool_info", {"name": whole}),
        ("tool_info", {"name": tool}),
        ("get_tool_schemas", {"names": [whole, tool]}),
        ("get_required_keys_for_tool", {"name": whole}),
        ("read_skill", {"name": skill}),
        ("read_skill", {"name": skill, "path": "SKILL.md"}),
    ]
    for name, arguments in calls:
        yield answer(host, client.call_tool_mcp, name, arguments)
    for end in ("moby-dick", "", "../shelf/moby-dick"):
        yield answer(host, client.read_resource_mcp, uri + end)
    yield answer(host, client.get_prompt_mcp, f"{server}__summarise", {"title": "x"})
    reference = mcp_types.PromptReference(name=f"{server}__summarise")
    yield answer(host, client.complete_mcp, reference, {"name": "title", "value": "x"})
    template = mcp_types.ResourceTemplateReference(uri=f"toolscout://{server}/pages://{{book}}/1")
    yield answer(host, client.complete_mcp, template, {"name": "book", "value": "m"})


REAL, MADE_UP = ("library", "find_book", "binding"), ("bilrary", "dinf_bkoo", "dinbing")


def masked(text: str, names: tuple[str, str, str]) -> str:
    """Return an answer without the names that were asked for."""
    for name in names:
        text = text.replace(name, "*").replace(name.upper(), "*")
    return text


def test_a_host_of_a_profile_is_told_of_nothing_else(office: Host):
    said = told(office).casefold()
    assert "notes__list_notes" in said
    assert not [word for word in (*BOOKS, "learn_shorthand", "erase_notebook") if word in said]


def test_a_name_of_another_profile_is_answered_as_one_that_does_not_exist(office: Host):
    real = [masked(text, REAL) for text in guesses(office, *REAL)]
    made_up = [masked(text, MADE_UP) for text in guesses(office, *MADE_UP)]
    assert real == made_up
    assert len(real) > 20


def test_tools_are_those_that_lists_and_risk_of_the_profile_permit(office: Host):
    assert office.names() == {
        f"notes__{name}"
        for name in ("count_words", "list_notes", "read_sketch", "send_note", "show_environment")
    }
    assert [tool.name for tool in office.tools()][-1] == "notes__list_notes"
    assert str(office.tools()[0].description).endswith("tools of: notes.")
    assert not office.call("notes__list_notes").is_error
    assert "there is no tool of this name" in text_of(office.call("notes__learn_shorthand"))
    assert "there is no tool of this name" in text_of(office.change("notes__erase_notebook"))


def test_another_profile_sees_what_it_has(tmp_path: Path):
    with seen_by(tmp_path, "books") as books:
        until(lambda: "library__find_book" in books.names())
        said = told(books)
        assert "notes" not in said
        assert not [word for word in BOOKS if word not in said]
        assert [tool.name for tool in books.tools()][-1] == "library__find_book"  # all have it
        assert "bind a book" in text_of(books.send("read_skill", {"name": "binding"}))


@pytest.mark.parametrize(
    ("lists", "read", "prompts"),
    [
        ({}, {"moby-dick", "secret"}, True),
        ({"deny": ["toolscout://library/*secret*", "*__summarise"]}, {"moby-dick"}, False),
        ({"allow": ["library__*", "toolscout://*/moby-dick"]}, {"moby-dick"}, True),
        (
            {"allow": ["*__find_book", "toolscout://library/book://shelf/moby*"]},
            {"moby-dick"},
            False,
        ),
        ({"allow": ["library__*"]}, set(), True),
    ],
)
def test_lists_hold_for_resources_and_prompts(
    tmp_path: Path, lists: dict[str, Any], read: set[str], prompts: bool
):
    profiles = {"books": {"servers": ["library"], **lists}}
    uri = "toolscout://library/book://shelf/"
    with seen_by(tmp_path, "books", profiles=profiles) as books:
        until(lambda: "library__find_book" in books.names())
        listed = books.portal.call(books.client.list_resources)
        own = {"toolscout://overview", "toolscout://index"}
        assert {str(one.uri) for one in listed} - own == {uri + name for name in read}
        listed = books.portal.call(books.client.list_prompts)
        assert ("library__summarise" in {one.name for one in listed}) == prompts
        for name in ("moby-dick", "secret"):
            said = answer(books, books.client.read_resource_mcp, uri + name)
            assert ("not found" not in said) == (name in read)
        for odd in ("%73ecret", "SECRET", "moby-dick/../secret", "moby-dick/%2e%2e/secret"):
            said = answer(books, books.client.read_resource_mcp, uri + odd)
            assert "secret" in read or "the secret" not in said


def test_without_a_profile_a_host_over_stdio_sees_everything(tmp_path: Path):
    with inside(tmp_path, SERVERS, profiles={"office": {"key": "${NOWHERE}"}}) as whole:
        until(lambda: {"notes__list_notes", "library__find_book"} <= whole.names())


@pytest.mark.integration
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_key_decides_what_a_host_sees(url: str, tmp_path: Path, mode: str):
    with (
        over_http(url, "office", tmp_path, mode) as office,
        over_http(url, "books", tmp_path, mode) as books,
        over_http(url, "whole", tmp_path, mode) as whole,
    ):
        assert {name.partition("__")[0] for name in office.names()} == {"notes"}
        assert {name.partition("__")[0] for name in books.names()} == {"library"}
        assert whole.names() > office.names() | books.names()
        said = told(office).casefold()
        assert not [word for word in BOOKS if word in said]
        real = [masked(text, REAL) for text in guesses(office, *REAL)]
        assert real == [masked(text, MADE_UP) for text in guesses(office, *MADE_UP)]


@pytest.mark.integration
def test_what_one_profile_teaches_names_nothing_to_another(url: str, tmp_path: Path):
    query = "look it up"
    with over_http(url, "books", tmp_path) as books, over_http(url, "office", tmp_path) as office:
        before = office.ask("search_tools", query=query)
        for _ in range(4):
            books.ask("search_tools", query=query, top_k=9)
            assert not books.call("library__find_book", title="Emma").is_error
        assert office.ask("search_tools", query=query) == before


@pytest.mark.integration
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Basic eDp5"},
        {"X-API-Key": KEYS["office"][:-1]},
        {"X-API-Key": KEYS["office"], "Authorization": f"Bearer {KEYS['books']}"},
    ],
)
def test_without_a_right_key_nothing_is_answered(url: str, headers: dict[str, str]):
    answered = httpx2.post(url, json=HELLO, headers=ACCEPTS | headers)
    assert answered.status_code == 401
    assert "session" not in str(answered.headers)


@pytest.mark.integration
def test_a_session_belongs_to_the_key_that_opened_it(url: str):
    def post(key: str, **headers: str) -> httpx2.Response:
        sent = ACCEPTS | {"X-API-Key": KEYS[key]} | headers
        return httpx2.post(url, json=PING if headers else HELLO, headers=sent)

    session = {"mcp-session-id": post("books").headers["mcp-session-id"]}
    statuses = [post(key, **session).status_code for key in ("office", "whole", "books")]
    assert statuses == [404, 404, 200]


@pytest.mark.integration
def test_changes_of_profiles_apply_to_open_sessions(tmp_path: Path):
    command = ["-m", "toolscout", "mcp", "--config", str(config(tmp_path))]
    with listening(tmp_path, *command, "--http", "127.0.0.1:PORT") as (url, _):
        new = "another-key-of-office-0123456789abcdef0123456789"
        status = partial(status_of, url)
        assert (status(KEYS["office"]), status(KEYS["whole"]), status("")) == (200, 401, 401)
        with (
            over_http(url, "office", tmp_path) as office,
            over_http(url, "books", tmp_path) as books,
        ):
            until(lambda: "notes__send_note" in office.names())
            office.tools()
            books.tools()
            reads = PROFILES["office"] | {"max_risk": "read_only", "key": [KEYS["office"], new]}
            config(tmp_path, office=reads)
            until(lambda: "notes__send_note" not in office.names())
            until(lambda: office.told_of_changes > 0)  # call_tool_write is gone
            assert books.told_of_changes == 0
            assert status(new) == 200
            config(tmp_path, office=PROFILES["office"] | {"key": new})
            until(lambda: status(KEYS["office"]) == 401)
            assert status(new) == 200
            with over_http(url, new, tmp_path) as renewed:
                assert "notes__send_note" in renewed.names()
            config(tmp_path, office=None)
            until(lambda: status(new) == 401)
            until(lambda: "library__find_book" in books.names())
        config(tmp_path, office={"key": new, "servers": ["library"]}, books=None)
        until(lambda: status(new) == 200)
        with over_http(url, new, tmp_path) as renewed:
            assert {name.partition("__")[0] for name in renewed.names()} == {"library"}
        write(tmp_path, SERVERS)  # what keys have protected is not open then
        until(lambda: status(new) == 401)
        assert status("") == 401
        logged = "".join(path.read_text("utf-8") for path in tmp_path.glob("*") if path.is_file())
        assert "the configuration has changed" in logged
        assert "Traceback" not in logged
        assert not [key for key in (new, KEYS["office"]) if key in logged]


def status_of(url: str, key: str) -> int:
    headers = ACCEPTS | ({"X-API-Key": key} if key else {})
    return httpx2.post(url, json=HELLO, headers=headers).status_code
