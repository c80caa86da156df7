"""What a verb means by the noun after it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import crowd, select
from toolscout.text.query import analyse


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("open a pull request", "create a pull request"),
        ("Could you please file a bug?", "Could you please create a bug?"),
        ("I want to log an issue, thanks", "I want to create an issue, thanks"),
        ("raising a new ticket", "create a new ticket"),
        ("open the file notes.txt", "read the file notes.txt"),
        ("set up a database", "create a database"),
        ("get rid of the old branch", "delete the old branch"),
        ("find the bug and land the pull request", "find the bug and merge the pull request"),
        ("send a message to #general", "send a message to channel"),
        ("first line\n\nopen an issue", "first line\n\nopen an issue"),
        ("first line.\n\nopen an issue", "first line.\n\ncreate an issue"),
    ],
)
def test_a_verb_means_what_the_noun_after_it_says(text: str, said: str):
    assert analyse(text).resolved_text == said


@pytest.mark.parametrize(
    "text",
    [
        "list open issues",
        "open issues of this repository",
        "show the log of the issue tracker",
        "read the file about the bug",
        "open the door to the issue",
        "search tweets with the tag #python",
        "fix issue #42",
        "open request.json",
        "open task.txt in the editor",
        "raise the ticket's priority",
        "open issue-tracker",
        "open discussion/12",
        "",
        "#",
        "open",
    ],
)
def test_a_word_that_is_no_order_keeps_its_meaning(text: str):
    query = analyse(text)
    assert query.resolved_text == text
    assert not query.meanings


TOOLS = [
    {"name": "create_issue", "description": "Make a new issue in a tracker"},
    {"name": "read_file", "description": "Read a file from the disk"},
    {"name": "delete_file", "description": "Delete a file from the disk"},
    {"name": "file_upload", "description": "Upload a file"},
    {"name": "open_state", "description": "Open or closed, by number"},
    *crowd(20),
]


@pytest.mark.parametrize(
    "request_for_it",
    ["file a bug", "open an issue", "log an issue about the crash", "raise an issue please"],
)
def test_filing_opening_logging_and_raising_an_issue_is_creating_it(request_for_it: str):
    assert select(TOOLS, request_for_it).names[0] == "create_issue"


def test_a_catalog_without_a_word_for_the_meaning_is_searched_for_the_verb():
    tools = [{"name": "open_ticket", "description": "Open a ticket"}, *crowd(20)]
    assert select(tools, "open a ticket").names[0] == "open_ticket"


@given(st.text(alphabet="ab #.,\n", max_size=20), st.text(alphabet="ab #.,\n", max_size=20))
def test_the_rest_of_a_request_stays_as_it_was_written(before: str, after: str):
    text = f"{before}. file a bug {after}".strip()
    said = analyse(text).resolved_text
    assert said.replace("channel", "").count("create a bug") == 1
    assert "file a bug" not in said
