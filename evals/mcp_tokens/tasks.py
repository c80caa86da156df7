"""Twelve tasks over the nine servers, each with what a model would search for, and the call.

They are in people's words, not in those of the tools' descriptions, and were written down before
any result was seen. Nothing is tuned on them: a change that one of them asks for needs others.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple


class Task(NamedTuple):
    """One task of a person, and how it is done."""

    text: str
    query: str
    """What the agent searches with."""
    tool: str
    """The tool that does it, as `server__tool`."""
    arguments: Mapping[str, Any]
    expected: str
    """A part of the result."""

    @property
    def queries(self) -> tuple[str, ...]:
        """What the agent searches with until it finds the tool: at last what the person said."""
        return self.query, self.text


def tasks(work: Path, page: str) -> list[Task]:
    """Return the tasks for a folder and for the address of a page."""
    files = work / "files"
    milk = str(files / "milk.txt")
    rows: tuple[tuple[str, str, str, dict[str, Any], str], ...] = (
        (
            "It is 7 pm in Tokyo. What do clocks in Delhi show?",
            "time in Delhi when it is 7 pm in Tokyo",
            "time__convert_time",
            {
                "source_timezone": "Asia/Tokyo",
                "time": "19:00",
                "target_timezone": "Asia/Kolkata",
            },
            "15:30",
        ),
        (
            f"How big is {milk}, and when was it last touched?",
            "how big a file is and when it was last touched",
            "filesystem__get_file_info",
            {"path": milk},
            "size: 18",
        ),
        (
            f"Which notes do I have in {files}? They end in .txt.",
            "find my notes that end in .txt",
            "filesystem__search_files",
            {"path": str(files), "pattern": "**/*.txt"},
            "milk.txt",
        ),
        (
            f"What did the latest commit in {files} do?",
            "what the latest commit did",
            "git__git_show",
            {"repo_path": str(files), "revision": "HEAD"},
            "two litres",
        ),
        (
            "Ada has taken up chess, keep that in mind.",
            "keep in mind that a person has taken up a hobby",
            "memory__add_observations",
            {"observations": [{"entityName": "Ada", "contents": ["plays chess"]}]},
            "plays chess",
        ),
        (
            "What have I told you so far, all of it?",
            "everything you were told so far",
            "memory__read_graph",
            {},
            "at Acme",
        ),
        (
            "Let us think it through, one step after the other: which milk should I buy?",
            "think it through step by step",
            "sequential-thinking__sequentialthinking",
            {
                "thought": "What is the milk for?",
                "nextThoughtNeeded": True,
                "thoughtNumber": 1,
                "totalThoughts": 3,
            },
            '"branches": []',
        ),
        (
            "Which columns do the orders have?",
            "columns of the orders",
            "sqlite__describe_table",
            {"table_name": "orders"},
            "'name': 'total'",
        ),
        (
            "A third order has come in, of five euros. Put it into the database.",
            "put an order into the database",
            "sqlite__write_query",
            {"query": "insert into orders values (3, 5.0)"},
            "affected_rows",
        ),
        (
            f"Read me the article at {page}.",
            "read an article on the web",
            "fetch__fetch",
            {"url": page},
            "ferry leaves at nine",
        ),
        (
            "Do I need an umbrella in Chicago?",
            "weather in Chicago",
            "everything__get-structured-content",
            {"location": "Chicago"},
            '"humidity":',
        ),
        (
            f"Which branches does {files} have?",
            "branches of the repository",
            "git__git_branch",
            {"repo_path": str(files), "branch_type": "local"},
            "* ma",
        ),
    )
    return [Task(*row) for row in rows]
