"""A change of the configuration's file is applied to the gateway that runs."""

from pathlib import Path
from typing import Any

import pytest

from tests.gateway.mcp.hosts import Host, inside, stdio_server, write
from tests.support import until
from toolscout.gateway.mcp import gateway

STARTED = "the key is"
"""What a server writes when it starts."""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway, "FOLLOW_S", 0.05)


def starts(office: Host, name: str) -> int:
    return office.stderr.count(f"{name}: {STARTED}")


def servers_of(office: Host) -> set[str]:
    return {name.partition("__")[0] for name in office.names()}


def test_servers_are_added_changed_and_removed_and_the_others_left_alone(tmp_path: Path):
    kept, changed = stdio_server(), stdio_server(env={"NOTES_KEY": "old-key-of-notes"})
    with inside(tmp_path, {"kept": kept, "changed": changed, "gone": stdio_server()}) as office:
        until(lambda: servers_of(office) == {"kept", "changed", "gone"})
        assert not office.call("kept__list_notes").is_error
        changed = stdio_server(env={"NOTES_KEY": "new-key-of-notes"}, deny=["erase_*"])
        write(tmp_path, {"kept": kept, "changed": changed, "new": stdio_server()})
        until(lambda: servers_of(office) == {"kept", "changed", "new"})
        seen = office.call("changed__show_environment").structured_content
        assert seen is not None
        assert seen["NOTES_KEY"] == "new-key-of-notes"
        assert "changed__erase_notebook" not in office.names()
        assert not office.call("new__list_notes").is_error
        assert office.call("gone__list_notes").is_error
        assert not office.call("kept__list_notes").is_error
        assert (starts(office, "kept"), starts(office, "changed")) == (1, 2)
        until(lambda: "started: changed, new; ended: changed, gone" in office.stderr)


def test_a_host_is_told_and_sees_the_servers_as_they_are_now(tmp_path: Path):
    servers = {"notes": stdio_server()}
    with inside(tmp_path, servers) as office:
        assert "notes" in str(office.tools()[0].description)
        write(tmp_path, {"diary": stdio_server()}, pinned=["diary__list_notes"])
        until(lambda: office.told_of_changes > 0)
        until(lambda: "diary__list_notes" in {tool.name for tool in office.tools()})
        assert str(office.tools()[0].description).endswith("tools of: diary.")


def test_options_are_applied_to_the_servers_that_run(tmp_path: Path):
    servers = {"notes": stdio_server()}
    with inside(tmp_path, servers, "--pin", "notes__list_notes") as office:
        until(lambda: "notes__send_note" in office.names())
        write(tmp_path, servers, max_risk="read_only")
        until(lambda: "notes__send_note" not in office.names())
        listed = [tool.name for tool in office.tools()]
        assert "call_tool_write" not in listed
        assert listed[-1] == "notes__list_notes"  # by the flag
        assert starts(office, "notes") == 1


@pytest.mark.parametrize(
    "content", ["{", f"[{'9' * 5_000}]", '{"mcpServers": {"notes": {"command": 5}}}', None]
)
def test_a_file_at_fault_is_said_once_and_changes_nothing(tmp_path: Path, content: str | None):
    servers: dict[str, Any] = {"notes": stdio_server()}
    with inside(tmp_path, servers) as office:
        until(lambda: office.names() != set())
        path = tmp_path / "mcp.json"
        if content is None:
            path.unlink()
        else:
            path.write_text(content, "utf-8")
        until(lambda: "the servers are left as they were" in office.stderr)
        assert not office.call("notes__list_notes").is_error
        assert office.stderr.count("the servers are left as they were") == 1
        write(tmp_path, {**servers, "diary": stdio_server()})
        until(lambda: servers_of(office) == {"notes", "diary"})
        assert starts(office, "notes") == 1
