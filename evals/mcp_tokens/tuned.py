"""Twelve more tasks, in the words of the tools: the gateway's own texts were tuned on these.

Their figures are shown apart, because a gateway that was made for them does well on them.
"""

from pathlib import Path
from typing import Any

from evals.mcp_tokens.tasks import Task


def tuned_tasks(work: Path, page: str) -> list[Task]:
    """Return the tasks for a folder and for the address of a page."""
    files = work / "files"
    milk = str(files / "milk.txt")
    rows: tuple[tuple[str, str, str, dict[str, Any], str], ...] = (
        (
            "What time is it in Tokyo now?",
            "current time in a time zone",
            "time__get_current_time",
            {"timezone": "Asia/Tokyo"},
            "+09:00",
        ),
        (
            "What is 16:30 in New York in London?",
            "convert a time to another time zone",
            "time__convert_time",
            {
                "source_timezone": "America/New_York",
                "time": "16:30",
                "target_timezone": "Europe/London",
            },
            "21:30",
        ),
        (
            f"What does {milk} say?",
            "read a text file",
            "filesystem__read_text_file",
            {"path": milk},
            "two litres",
        ),
        (
            f"Write 'three eggs' into eggs.txt in {files}.",
            "write text to a file",
            "filesystem__write_file",
            {"path": str(files / "eggs.txt"), "content": "three eggs"},
            "Successfully wrote",
        ),
        (
            f"What has changed in the repository {files}?",
            "status of the working tree of a git repository",
            "git__git_status",
            {"repo_path": str(files)},
            "index.html",
        ),
        (
            f"What were the last commits in {files}?",
            "list the last commits of a git repository",
            "git__git_log",
            {"repo_path": str(files)},
            "Buy milk",
        ),
        (
            "Remember that Grace is an admiral.",
            "create a person with facts in the memory graph",
            "memory__create_entities",
            {
                "entities": [
                    {"name": "Grace", "entityType": "person", "observations": ["is an admiral"]}
                ]
            },
            "Grace",
        ),
        (
            "What do you remember of Ada?",
            "search the knowledge graph for a person",
            "memory__search_nodes",
            {"query": "Ada"},
            "at Acme",
        ),
        (
            "What is the total of all orders in the database?",
            "run a SELECT query on the database",
            "sqlite__read_query",
            {"query": "select sum(total) as total from orders"},
            "39.75",
        ),
        (
            "Which tables does the database have?",
            "list the tables of the database",
            "sqlite__list_tables",
            {},
            "orders",
        ),
        (
            f"What does the page {page} say?",
            "fetch a web page by its URL",
            "fetch__fetch",
            {"url": page},
            "ferry leaves at nine",
        ),
        (
            "What is 2 plus 40?",
            "add two numbers",
            "everything__get-sum",
            {"a": 2, "b": 40},
            "42",
        ),
    )
    return [Task(*row) for row in rows]
