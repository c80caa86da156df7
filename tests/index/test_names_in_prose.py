"""Where a written name begins and ends inside a sentence."""

import pytest

from tests.support import select

NAMES = tuple(
    (
        "create_issue create_issue_comment read file read_file list_label list_labels search_code "
        "get_thread github__create_gist search_issues"
    ).split()
)
TOOLS = [{"name": name, "description": f"Tool {number}"} for number, name in enumerate(NAMES)]


@pytest.mark.parametrize(
    ("pattern", "first"),
    [
        ("use `create_issue` comment the result", "create_issue"),
        ("first create_issue, comment later", "create_issue"),
        ("call create_issue. Comment nothing.", "create_issue"),
        ("list_label's colour", "list_label"),
        ("search code for issues (get_thread)", "get_thread"),
        ("search issues with github__create_gist now", "github__create_gist"),
        ("create issue comment please", "create_issue_comment"),
        ("create_issue_comment now", "create_issue_comment"),
        ("please read file now", "read_file"),
    ],
)
def test_names_end_where_they_are_written_to_end(pattern: str, first: str):
    assert select(TOOLS, pattern).names[0] == first


def test_quoted_words_are_names_of_their_own():
    assert select(TOOLS, "'read', 'file'", top_k=2).names == ["read", "file"]


@pytest.mark.parametrize("pins", [[], ["list_label"], ["list_label", "list_labels"]])
def test_pins_do_not_push_out_a_name(pins: list[str]):
    tools = [
        {"name": "search", "description": "Look through everything"},
        *(
            {"name": f"github_{n}", "description": f"Search issues about login in github {n}"}
            for n in range(200)
        ),
        *TOOLS,
    ]
    pattern = "do a search for issues about login in github"
    assert "search" in select(tools, pattern, top_k=5, always_keep=pins).names
