"""Ordinary requests find their tool first, whatever verb people use for it."""

import pytest

from toolscout import Engine

TOOLS = {
    "create_issue": "Create a new issue in a repository",
    "list_issues": "List open issues of a repository",
    "close_issue": "Close an issue",
    "get_issue": "Get the details of an issue",
    "comment_issue": "Add a comment to an issue",
    "create_pull_request": "Create a pull request",
    "list_pull_requests": "List open pull requests",
    "merge_pull_request": "Merge a pull request",
    "review_pull_request": "Review a pull request",
    "create_ticket": "Create a support ticket",
    "search_tickets": "Search support tickets",
    "log_search": "Search the logs of a service",
    "create_bug": "Create a bug report in the tracker",
    "list_bugs": "List known bugs",
    "read_file": "Read the contents of a file",
    "write_file": "Write a file",
    "delete_file": "Delete a file",
    "send_message": "Send a message to a channel",
    "read_messages": "Read the messages of a channel",
    "send_email": "Send an email",
    "create_event": "Create a calendar event or meeting",
    "list_events": "List events of the calendar",
    "pay_invoice": "Pay an invoice",
    "create_invoice": "Create an invoice",
    "list_invoices": "List invoices",
    "book_table": "Book a table at a restaurant",
    "order_food": "Order food for delivery",
    "play_music": "Play a song or playlist",
    "pause_music": "Pause the music",
    "deploy_service": "Deploy a service to production",
    "rollback_deployment": "Roll a deployment back to the previous version",
    "enable_feature": "Enable a feature flag",
    "disable_feature": "Disable a feature flag",
    "find_contact": "Find a contact in the address book",
    "delete_branch": "Delete a branch",
    "backup_database": "Make a backup of a database",
    "start_server": "Start a server",
    "stop_server": "Stop a running server",
    "summarize_text": "Summarize a text",
    "calculate": "Evaluate a mathematical expression",
}

REQUESTS = {
    "open a pull request": "create_pull_request",
    "file a bug": "create_bug",
    "raise an issue": "create_issue",
    "log a ticket": "create_ticket",
    "open an issue about the login page": "create_issue",
    "can you raise a ticket for this": "create_ticket",
    "submit a bug report": "create_bug",
    "open the file config.yaml": "read_file",
    "close the issue": "close_issue",
    "land the pull request": "merge_pull_request",
    "drop a message to #general": "send_message",
    "put a meeting on the calendar": "create_event",
    "settle the bill": "pay_invoice",
    "grab some pizza": "order_food",
    "put on some music": "play_music",
    "make a reservation for two": "book_table",
    "look up Ann's contact": "find_contact",
    "shut down the server": "stop_server",
    "fire up the server": "start_server",
    "turn on the new checkout feature": "enable_feature",
    "roll out the service": "deploy_service",
    "get rid of the old branch": "delete_branch",
    "sum up this article": "summarize_text",
    "work out 3 times 17": "calculate",
    "list open issues": "list_issues",
    "show the log of the service": "log_search",
    "back up the database": "backup_database",
}

ENGINE = Engine([{"name": name, "description": about} for name, about in TOOLS.items()])


@pytest.mark.parametrize(("request_", "tool"), REQUESTS.items())
def test_an_ordinary_request_finds_its_tool_first(request_: str, tool: str):
    assert ENGINE.search(request_).names[:1] == [tool]
