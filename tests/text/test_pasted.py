"""What a user pasted does not ask."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscout.text.pasted import strip_pasted

REQUEST = "Please open a ticket about this in the tracker"

PASTED = {
    "a fenced block": "```python\nfor mail in inbox:\n    send(mail)\n```",
    "code": 'def send(mail):\n    server.connect("smtp")\n    return server.deliver(mail)',
    "code with braces": "function send(mail) {\n  const box = open();\n  box.push(mail);\n}",
    "imports": "import smtplib\nfrom email.message import EmailMessage\nimport calendar as cal",
    "a log": "2026-03-01 12:00:04 ERROR mail not sent\n2026-03-01 12:00:09 INFO calendar read",
    "levels": "ERROR: could not send the mail\nWARNING: calendar is empty",
    "a traceback": 'Traceback (most recent call last):\n  File "mail.py", line 3, in send\n'
    "    box.push(mail)\nValueError: no mailbox",
    "a diff": "diff --git a/mail.py b/mail.py\n--- a/mail.py\n+++ b/mail.py\n@@ -1,2 +1,2 @@\n"
    "-send(mail)\n+post(mail)",
    "a table": "| mail | calendar |\n|---|---|\n| sent | read |",
    "rows of a file": "mail;sent;calendar\nbox;read;weather",
    "a log of commits": "9f3c2ab send the mail\n77d01ce delete the calendar",
    "a docstring": 'def send(mail):\n    """Send a mail."""\n    box.push(mail)',
    "rows of a sheet": "mail\tsent\tcalendar\nbox\tread\tweather",
    "quoted mail": "On Monday Ann wrote:\n> Please send me the calendar\n> and delete the mail",
    "JSON": '{\n  "mail": "send",\n  "calendar": [1, 2]\n}',
    "a query": "SELECT mail FROM calendar\nUPDATE calendar SET mail = 1",
    "a shell": "$ mail --send calendar\n$ rm -r folder",
    "a form": "[[ ## question ## ]]\n[[ ## completed ## ]]",
}


@pytest.mark.parametrize("kind", PASTED)
@pytest.mark.parametrize("is_first", [True, False])
def test_what_was_pasted_is_left_out(kind: str, *, is_first: bool):
    parts = [REQUEST, PASTED[kind]] if is_first else [PASTED[kind], REQUEST]
    assert strip_pasted("\n\n".join(parts)).strip() == REQUEST


def test_the_last_line_of_a_framework_form_is_left_out():
    form = (
        "[[ ## question ## ]]\nopen a pull request for my branch\n\n"
        "Respond with the corresponding output fields, starting with the field "
        "`[[ ## next_thought ## ]]`, and then ending with `[[ ## completed ## ]]`."
    )
    assert strip_pasted(form) == "open a pull request for my branch"


@pytest.mark.parametrize(
    "text",
    [
        "Create a repository;\nadd three people;\nand tell them by mail.",
        "- create a channel\n- invite the team\n- post the agenda",
        "1. Find the invoice\n2. Pay it\n3. Write to the supplier",
        "To do today:\nimport the contacts from my phone\nexport the calendar as a file",
        "Dear team,\n\nplease move the meeting to Friday.\n\nBest,\nAnn",
        "From Berlin to Hamburg\nby train, on Monday",
        "<question>\nWhich files changed last week in the folder?\n</question>",
    ],
)
def test_what_people_write_in_lines_stays(text: str):
    kept = strip_pasted(text)
    asked = [line for line in text.splitlines() if line and not line.startswith("<")]
    assert all(line in kept for line in asked)


def test_a_fence_that_nothing_closes_is_a_line_like_others():
    assert strip_pasted(f"```\n{REQUEST}\nas it is") == f"```\n{REQUEST}\nas it is"


@pytest.mark.parametrize("kind", PASTED)
def test_what_is_pasted_without_a_request_is_the_request(kind: str):
    assert strip_pasted(PASTED[kind]) == PASTED[kind]


@given(st.text())
def test_something_is_always_left(text: str):
    assert bool(strip_pasted(text).strip()) == bool(text.strip())
