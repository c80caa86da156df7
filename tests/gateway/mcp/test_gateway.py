"""A host finds tools of several servers and calls them, with all that a call has."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.gateway.mcp.hosts import Host, host, inside, stdio_server, text_of
from tests.support import until

Json = dict[str, Any]

MODERN = "2026-07-28"
NAMES = {"my_notes", "other", "hasty"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gateway")


@pytest.fixture(scope="module", params=["legacy", "auto"])
def office(folder: Path, request: pytest.FixtureRequest) -> Iterator[Host]:
    """Yield a host whose servers have the same tools, in a protocol with or without sessions."""
    env = {"CANCELLED": str(folder / "cancelled"), "NOTES_KEY": "sesame-of-notes"}
    servers = {
        "my notes": stdio_server(
            env=env,
            keywords={"list_notes": ["zettelkasten"]},
            examples={"count_words": ["how verbose was I yesterday"]},
        ),
        "other": stdio_server(env={"OTHER_KEY": "sesame-of-other"}, deny=["erase_*"]),
        "hasty": stdio_server(allow=["count_words"], timeout_ms=300, env=env),
    }
    pinned = ["other__list_notes", "other__send_note", "other__transcribe_shorthand"]
    with host(folder, servers, mode=request.param, pinned=pinned) as started:
        until(lambda: {name.split("__")[0] for name in started.names()} == NAMES)
        yield started


def test_a_host_sees_the_tools_of_the_gateway_and_pinned_ones(office: Host):
    assert [tool.name for tool in office.tools()] == [
        "search_tools",
        "call_tool",
        "call_tool_write",
        "other__list_notes",
        "other__send_note",
    ]


def test_no_host_is_to_defer_the_tools_of_the_gateway(office: Host):
    for tool in office.tools():
        assert (tool.meta or {}).get("anthropic/alwaysLoad") is True


def test_the_search_names_the_servers(office: Host):
    search = office.tools()[0]
    assert search.description is not None
    assert search.description.endswith("The only way to tools of: my_notes, other, hasty.")
    assert len(search.description) <= 300


def test_the_search_hint_of_a_tool_finds_it(office: Host):
    assert office.found("palimpsest")[0].endswith("__read_sketch")


def test_a_pinned_tool_needs_no_token_for_hosts_list_its_schema(office: Host):
    assert "other__send_note" in {tool.name for tool in office.tools()}
    assert text_of(office.send("other__send_note", {"text": "tea"})) == "sent tea"


def test_a_pinned_tool_is_listed_as_its_server_lists_it(office: Host):
    pinned = next(tool for tool in office.tools() if tool.name == "other__list_notes")
    assert pinned.description == "List the notes of a folder."
    assert pinned.input_schema["properties"] == {"folder": {"default": "inbox", "type": "string"}}
    assert pinned.annotations is not None
    assert pinned.annotations.read_only_hint is True
    assert office.send("other__list_notes", {}).structured_content == {
        "folder": "inbox",
        "notes": ["milk", "bread"],
    }


def test_tools_of_equal_names_are_found_under_the_names_of_their_servers(office: Host):
    assert set(office.found("list the notes")[:2]) == {
        "my_notes__list_notes",
        "other__list_notes",
    }
    assert office.found("list the notes", namespace="other")[0] == "other__list_notes"
    assert all(name.startswith("other__") for name in office.found("notes", namespace="OTHER"))
    listed = office.ask("list_tools_meta", namespace="other", detail="names")["tools"]
    assert {"name": "other__list_notes"} in listed
    assert all(tool["name"].startswith("other__") for tool in listed)


def test_keywords_and_examples_of_the_configuration_find_their_tools(office: Host):
    assert office.found("zettelkasten")[0] == "my_notes__list_notes"
    assert office.found("how verbose was he yesterday")[0] == "my_notes__count_words"


def test_results_come_as_the_server_made_them(office: Host):
    drawn = office.call("other__read_sketch", page=1)
    assert drawn.structured_content == {"page": 1}
    assert drawn.content[0].model_dump(by_alias=True, exclude_none=True) == {
        "type": "image",
        "data": "aGVsbG8=",
        "mimeType": "image/png",
    }
    assert drawn.meta is not None
    assert drawn.meta["drawn"] == "by hand"
    assert not drawn.is_error


def test_errors_come_as_the_server_made_them(office: Host):
    wrong = office.call("other__read_sketch", page=9)
    assert wrong.is_error
    assert text_of(wrong) == "there is no such page"
    assert wrong.structured_content == {"pages": 1}


def test_progress_of_a_call_reaches_the_host(office: Host):
    office.progress.clear()
    assert office.call("other__count_words", seconds=0.1).structured_content == {"result": 7}
    until(lambda: len(office.progress) == 4)
    assert office.progress[2] == (2.0, 4.0, "notebook 2")


def test_a_call_that_the_host_cancels_is_cancelled_at_the_server(office: Host, folder: Path):
    async def impatient() -> None:
        with anyio.CancelScope() as call:

            async def begun(*_: object) -> None:
                call.cancel()

            arguments = {"name": "my_notes__count_words", "arguments": {"seconds": 600}}
            await office.client.call_tool_mcp("call_tool", arguments, progress_handler=begun)

    marker = folder / "cancelled"
    marker.unlink(missing_ok=True)
    office.portal.call(impatient)
    until(marker.exists)
    assert office.call("my_notes__list_notes").structured_content is not None


def test_a_call_that_takes_longer_than_its_server_may_is_ended(office: Host):
    late = office.call("hasty__count_words", seconds=600)
    assert late.is_error
    assert text_of(late) == "hasty did not answer within 0.3 s"
    assert not office.call("hasty__count_words", seconds=0).is_error


def test_a_tool_that_writes_is_called_with_the_token_of_its_schema(office: Host):
    whole = office.ask("tool_info", name="my_notes__send_note", detail="full")
    assert whole["risk"] == "write_remote"
    assert whole["input_schema"]["required"] == ["text"]
    assert whole["call"] == "call_tool_write"
    call = {"name": "my_notes__send_note", "arguments": {"text": "tea"}}
    assert text_of(office.send("call_tool_write", {**call, "token": whole["token"]})) == "sent tea"
    assert "token" not in office.ask("tool_info", name="my_notes__list_notes", detail="full")


def test_a_tool_that_only_reads_may_be_called_through_either(office: Host):
    reads = office.call("my_notes__list_notes")
    assert not reads.is_error
    assert text_of(office.change("my_notes__list_notes")) == text_of(reads)
    early = office.call("my_notes__send_note", text="tea")
    assert "through call_tool_write" in text_of(early)


@pytest.mark.parametrize("token", [{}, {"token": "guessed"}, {"token": 7}])
def test_a_refused_call_brings_schema_and_token_for_the_next_one(folder: Path, token: Json):
    call = {"name": "notes__send_note", "arguments": {"text": "tea"}, **token}
    with inside(folder, {"notes": stdio_server()}) as office:
        until(lambda: office.names() != set())
        early = office.send("call_tool_write", call)
        assert early.is_error
        shown = json.loads(text_of(early))
        assert shown["error"].startswith("notes__send_note is write_remote: check its definition")
        assert shown["tool"]["input_schema"]["required"] == ["text"]
        assert text_of(office.call_again(early, text="tea")) == "sent tea"
    with inside(folder, {"notes": stdio_server()}) as office:
        until(lambda: office.names() != set())
        directly = json.loads(text_of(office.send("notes__send_note", {"text": "tea"})))
        assert directly["tool"]["input_schema"] == shown["tool"]["input_schema"]


def test_a_destructive_tool_says_that_a_person_should_confirm(office: Host):
    whole = office.ask("tool_info", name="my_notes__erase_notebook", detail="full")
    assert whole["risk"] == "destructive"
    assert whole["requires_confirmation"]


def test_a_denied_tool_is_neither_found_nor_listed_nor_called(office: Host):
    assert "other__erase_notebook" not in office.names()
    assert "other__erase_notebook" not in office.found("erase a whole notebook", top_k=50)
    for refused in (
        office.send("tool_info", {"name": "other__erase_notebook", "detail": "full"}),
        office.call("other__erase_notebook", name="diary"),
        office.send("other__erase_notebook", {"name": "diary"}),
    ):
        assert refused.is_error
        assert text_of(refused).startswith("there is no tool of this name")


def test_keys_are_named_and_their_values_stay_secret(office: Host):
    answer = office.ask("get_required_keys_for_tool", name="my_notes__send_note")
    assert answer["required_keys"] == ["CANCELLED", "NOTES_KEY"]
    until(lambda: "my_notes: the key is ***" in office.stderr)
    assert "sesame" not in office.stderr


def test_a_server_has_no_key_of_another_nor_of_the_gateway(
    office: Host, monkeypatch: pytest.MonkeyPatch
):
    seen = office.call("other__show_environment").structured_content
    assert seen is not None
    assert seen["OTHER_KEY"] == "sesame-of-other"
    assert not {"NOTES_KEY", "PYTHONPATH"} & seen.keys()


def test_a_call_is_found_in_any_spelling_and_an_unknown_one_has_a_hint(office: Host):
    assert not office.call("my-notes.listNotes").is_error
    unknown = office.call("my_notes__list_note")
    assert unknown.is_error
    assert "my_notes__list_notes" in text_of(unknown)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("search_tools", {"query": "x", "namespace": "nowhere"}, "no such server"),
        ("call_tool", {}, "`name` is missing"),
        ("call_tool", {"name": "x", "arguments": []}, "arguments: expected an object"),
        ("call_tool", {"name": "x", "arguments": "{"}, "no JSON"),
        ("no_such_tool", {}, "there is no tool of this name"),
    ],
)
def test_wrong_arguments_are_answered_in_a_line(office: Host, name, arguments, said):
    text = text_of(office.send(name, arguments))
    assert said in text
    assert "\n" not in text


def test_a_tool_that_a_server_adds_is_found(office: Host):
    assert not office.call("other__learn_shorthand").is_error
    until(lambda: "other__transcribe_shorthand" in office.names())
    assert office.found("transcribe strokes of shorthand")[0] == "other__transcribe_shorthand"
    assert text_of(office.call("other__transcribe_shorthand", strokes="~")) == "~"


def test_a_pinned_tool_that_has_appeared_is_listed_and_the_host_told(office: Host):
    assert "other__transcribe_shorthand" in {tool.name for tool in office.tools()}
    if office.client.protocol_version != MODERN:  # which tells only who has subscribed
        until(lambda: office.told_of_changes > 0)


def test_a_server_that_ends_is_unavailable_and_comes_back(office: Host):
    lost = office.call("other__crash")
    assert lost.is_error
    why = "its process has ended; it is being started again"
    assert text_of(lost) == f"other was lost during the call: {why}"
    names = office.names()
    assert "other__list_notes" in names
    until(lambda: not office.call("other__list_notes").is_error)
    assert "Traceback" not in office.stderr
