"""Whatever a model sends, it gets an answer, and no stack trace."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.gateway.mcp.hosts import Host, inside, stdio_server

TEXT = st.text(max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
OWN = ("search_tools", "tool_info", "call_tool", "call_tool_write", "list_tools_meta")
NAMES = st.sampled_from((*OWN, "notes__list_notes", "notes__send_note", "list_notes")) | TEXT
FIELDS = st.sampled_from(
    ("name", "names", "arguments", "query", "namespace", "domain", "top_k", "cursor", "page_size")
)


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with inside(tmp_path_factory.mktemp("fuzz"), {"notes": stdio_server()}) as started:
        yield started


@given(name=NAMES, arguments=st.dictionaries(FIELDS | TEXT, VALUES | NAMES, max_size=5))
def test_every_call_is_answered_without_a_stack_trace(office: Host, name, arguments):
    result = office.send(name, arguments)
    shown = result.model_dump_json()
    assert "Traceback" not in shown
    assert 'File \\"' not in shown
    assert "could not make this call" not in shown
    assert not office.call("notes__list_notes").is_error


@given(arguments=st.dictionaries(TEXT, VALUES, max_size=3), text=TEXT)
def test_arguments_reach_a_server_as_they_are(office: Host, arguments, text):
    token = {"token": office.ask("tool_info", name="notes__send_note", detail="full")["token"]}
    call = {"name": "notes__send_note", **token}
    sent = office.send("call_tool_write", {**call, "arguments": {"text": text}})
    assert sent.structured_content == {"result": f"sent {text}"}
    other = {**call, "arguments": {"text": text, "more": arguments}}
    assert office.send("call_tool_write", other).is_error
