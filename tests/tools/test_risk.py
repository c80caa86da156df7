"""How much harm a tool can do, the same for the client and the service."""

import csv
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from toolscout.contract.tools import Tool
from toolscout.text.domains import load_bundled
from toolscout.tools.risk import LEVELS, requires_confirmation, requires_schema, risk_of
from toolscout.tools.traits import read_traits

NAMES = Path(__file__).with_name("risk_names.csv")

DESTRUCTIVE = (
    "delete_user deletes_user deletedUser deleting-user deletion_of_user wipe_disk wipes_disk "
    "wiped wiping erase_tape erasing erased eraser uninstall_app uninstalling uninstalled "
    "uninstaller remove_row removal removed drop_table dropping dropped destroy destroys "
    "purge_queue purging cancel_order cancelled cancellation terminate_vm termination "
    "terminating revoke_key revoking reset_password resetting evict eviction killing truncated "
    "shell_exec"
).split()
READ_ONLY = (
    "read_file reading list_users listing search_code searches finder fetching lookup_name "
    "counts compared summarized translation detection classification calculation validated "
    "verifying retrieval"
).split()
REMOTE = (
    "send_email sending sends_email posts published publishing pushes invitation notified "
    "replies subscription_start invoking executes deployment approval transfer_money paying "
    "frobnicate"
).split()
WRITTEN = (
    "create_issue creation edits updating formatted installed copies scheduled merging".split()
)


def service_risk(tool: dict[str, Any]) -> str:
    return read_traits(
        msgspec.json.decode(msgspec.json.encode(tool), type=Tool), load_bundled()
    ).risk


@pytest.mark.parametrize(
    ("level", "names"),
    [("destructive", DESTRUCTIVE), ("read_only", READ_ONLY), ("write_remote", [*REMOTE, *WRITTEN])],
)
def test_every_form_of_a_verb_counts(level: str, names: list[str]):
    assert {name: risk_of({"name": name}) for name in names} == dict.fromkeys(names, level)
    assert {name: service_risk({"name": name}) for name in names} == dict.fromkeys(names, level)


CASES: list[tuple[dict[str, Any], str]] = [
    ({"name": "x1", "description": "Wiping the whole disk"}, "destructive"),
    ({"name": "x1", "description": "Deletion of every record of a user"}, "destructive"),
    ({"name": "x1", "description": "A tool that deletes"}, "write_remote"),
    ({"name": "x1", "description": "This tool deletes"}, "destructive"),
    ({"name": "edit_file"}, "write_local"),
    ({"name": "fs.edit_file"}, "write_local"),
    ({"name": "edit", "description": "Edit a file in the workspace"}, "write_local"),
    ({"name": "git__edit", "description": "Edit a file in the workspace"}, "write_remote"),
    (
        {"name": "edit", "description": "Edit a file in the workspace", "namespace": "git"},
        "write_remote",
    ),
    ({"name": "search_and_replace"}, "write_remote"),
    ({"name": "find_or_delete"}, "destructive"),
    ({"name": "sync", "description": "Deleting everything locally"}, "write_remote"),
    ({"name": "delete_user", "annotations": {"readOnlyHint": True}}, "read_only"),
    ({"name": "read", "annotations": {"destructiveHint": True}}, "destructive"),
    (
        {"name": "purge", "annotations": {"destructiveHint": False, "openWorldHint": False}},
        "write_local",
    ),
    (
        {"name": "purge", "annotations": {"destructiveHint": False, "openWorldHint": True}},
        "write_remote",
    ),
    ({"name": "read_file", "annotations": {"readOnlyHint": False}}, "write_remote"),
    ({"name": "delete_file", "annotations": {"readOnlyHint": False}}, "destructive"),
    ({"name": "read_file", "risk": "destructive"}, "destructive"),
    (
        {"name": "zorble", "annotations": {"readOnlyHint": True, "destructiveHint": True}},
        "read_only",
    ),
    ({"name": "zorble", "annotations": {"readOnlyHint": "yes"}}, "write_remote"),
    ({"name": "zorble", "annotations": {"title": "Zorble"}}, "write_remote"),
    ({"name": "x1", "annotations": {"destructiveHint": False}}, "write_remote"),
    ({"name": "github__create_issue"}, "write_remote"),
    ({"name": "list_deleted_files"}, "read_only"),  # the first verb is what it does
    ({"name": "drag", "description": "Perform drag and drop between elements"}, "write_remote"),
    ({"name": "forecast", "description": "Returns the weather"}, "read_only"),
    ({"name": "mcp__drive__create_file"}, "write_local"),
    ({"name": "view_delete", "description": "Deletes a view"}, "destructive"),
    ({"name": "view_delete"}, "destructive"),
    ({"name": "view_delete", "description": "View delete"}, "destructive"),
    ({"name": "get_deleted_items", "description": "Get deleted items"}, "read_only"),
    ({"name": "view_delete_history", "description": "Shows who deleted what"}, "read_only"),
    ({"name": "view_update", "description": "Columns of a view"}, "write_remote"),
    ({"name": "get_update", "description": "The update of a device"}, "read_only"),
    ({"name": "list_cleanup", "description": "Delete what is old"}, "destructive"),
    ({"name": "cleanup_list", "description": "Update of what is old"}, "read_only"),
    ({"name": "post_delete", "description": "Permanently deletes a post"}, "destructive"),
    ({"name": "explorer__delete_file"}, "destructive"),  # a server's name is no verb
    ({"name": "删除用户", "description": "delete a user"}, "destructive"),
]


@pytest.mark.parametrize(("tool", "level"), CASES)
def test_client_and_service_judge_alike(tool: dict[str, Any], level: str):
    definition = {"annotations": tool["annotations"]} if "annotations" in tool else None
    sent = {name: value for name, value in tool.items() if name != "annotations"}
    if definition is not None:
        sent["definition"] = definition
    assert risk_of(tool) == level
    assert service_risk(sent) == level


def named(kind: str) -> list[dict[str, str]]:
    """Return tools of many products, whose names and descriptions were written for this test."""
    rows = csv.DictReader(NAMES.read_text().splitlines())
    return [row for row in rows if row.pop("does") == kind]


def test_what_deletes_and_changes_is_not_taken_for_a_reader():
    changing = named("changes")
    taken = [tool["name"] for tool in changing if risk_of(tool) == "read_only"]
    assert len(changing) >= 300
    assert len(taken) <= 0.003 * len(changing), taken


NOUNS = ("view", "list", "search", "filter", "check", "scan", "watch", "query", "lookup", "status")


@pytest.mark.parametrize("noun", NOUNS)
@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("{}_delete", "{}: delete one"),
        ("{}_delete", "{}s: deletes one"),
        ("{}_delete", "{} delete operation"),
        ("{}_remove", "{} table removal"),
        ("{}_drop_v2", ""),
        ("{}_delete_by_id", ""),
        ("{}_delete_all", "{} delete all"),
        ("fs__{}_delete", "{}: delete one"),
        ("{}_and_clear_queue", "{}s all messages and clears the queue"),
    ],
)
def test_a_noun_before_what_deletes_is_no_verb_of_reading(noun: str, name: str, description: str):
    tool = {"name": name.format(noun), "description": description.format(noun.capitalize())}
    assert risk_of(tool) == "destructive"


def test_readers_of_what_was_changed_stay_readers():
    reading = named("reads")
    lost = [tool["name"] for tool in reading if risk_of(tool) != "read_only"]
    assert len(reading) >= 300
    assert len(lost) <= 0.01 * len(reading), lost


def test_people_are_asked_before_what_cannot_be_undone():
    assert all(requires_confirmation(risk_of({"name": name})) for name in DESTRUCTIVE)
    assert not any(requires_confirmation(risk_of({"name": name})) for name in [*READ_ONLY, *REMOTE])


def test_the_risks_of_known_tools(data: Path):
    for row in json.loads((data / "cases/locus.json").read_text())["cases"]:
        if row["kind"] == "risk":
            tool = row["tools"][0]
            assert risk_of(tool) == row["expect_risk"], row["id"]
            level = risk_of(tool)
            assert requires_schema(level) == row["expect_requires_full_schema"], row["id"]
            assert requires_confirmation(level) == row["expect_requires_confirmation"], row["id"]


def test_levels_go_from_harmless_to_worst_and_gates_follow_them():
    assert LEVELS == ("read_only", "write_local", "write_remote", "destructive")
    assert [requires_schema(level) for level in LEVELS] == [False, False, True, True]
    assert [requires_confirmation(level) for level in LEVELS] == [False, False, False, True]
    assert risk_of({"type": "function", "function": {"name": "deleteFile"}}) == "destructive"
