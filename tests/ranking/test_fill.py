"""As few tools as needed: slots behind an evident winner may stay empty."""

from tests.support import Process, crowd, select

TOOLS = [
    {"name": "create_pull_request", "description": "Open a pull request on GitHub"},
    {"name": "delete_db", "description": "Delete a database, on request"},
    {"name": "send_email", "description": "Send a mail"},
    {"name": "read_file", "description": "Read a file from the disk"},
    *crowd(20),
]
QUERY = "make a pull request for this branch"


def test_a_full_answer_is_the_default():
    assert {"create_pull_request", "delete_db"} < set(select(TOOLS, QUERY).names)


def test_an_evident_winner_stands_alone():
    assert select(TOOLS, QUERY, fill="evident").names == ["create_pull_request"]


def test_the_tools_that_are_left_are_those_of_the_full_answer_in_its_order():
    for query in ("read a file", "send a mail with a file", "spin a gadget", "database"):
        full, short = select(TOOLS, query).names, select(TOOLS, query, fill="evident").names
        assert short == [name for name in full if name in short]
        assert short[:1] == full[:1]


def test_pins_and_names_stay():
    asked = {"always_keep": ["send_email"], "fill": "evident"}
    assert "send_email" in select(TOOLS, QUERY, **asked).names
    assert "read_file" in select(TOOLS, f"{QUERY} and use read_file", fill="evident").names


def test_each_of_several_wishes_keeps_its_tools():
    wishes = "make a pull request for this branch and then send a mail to Ann"
    names = select(TOOLS, wishes, fill="evident").names
    assert {"create_pull_request", "send_email"} <= set(names)


def test_a_request_and_the_setting_say_how_answers_are_filled(server: Process):
    body = {"pattern": QUERY, "tools": TOOLS}
    full = server.post(body).json()["selected_names"]
    assert server.post(body | {"fill": "all"}).json()["selected_names"] == full
    assert server.post(body | {"fill": "evident"}).json()["selected_names"] == full[:1]
