"""Tools that say by examples which requests they serve."""

from typing import Any

import pytest

from tests.support import Server
from toolscout import Engine

ORDERS = {"name": "close_ticket", "description": "Close a ticket of a customer"}
TOOLS = [
    {"name": f"export_{what}", "description": f"Write all {what} to a file"}
    for what in ("invoices", "orders", "customers", "payments", "products", "reviews", "users")
]


def with_examples(*examples: str) -> list[dict[str, Any]]:
    """Return the tools, one of them with examples in words that it does not have."""
    return [*TOOLS, {"name": "run_job_17", "description": "Job 17", "examples": list(examples)}]


def test_a_request_like_an_example_finds_its_tool():
    tools = with_examples("hand the numbers to the accountant")
    asked = "please hand the figures over to our accountant"
    assert Engine([*TOOLS, ORDERS]).search(asked).names[:1] != ["run_job_17"]
    assert Engine(tools).search(asked).names[0] == "run_job_17"


def test_an_example_does_not_answer_for_other_requests():
    engine = Engine(with_examples("hand the numbers to the accountant"))
    assert engine.search("write all payments to a file", 1).names == ["export_payments"]
    assert engine.search("qwxz vbnk").outcome == "no_match"


def test_examples_say_why(server: Server):
    tools = with_examples("hand the numbers to the accountant")
    body = server.search("hand the numbers to the accountant", tools, explain=True).json()
    assert body["selected_names"][0] == "run_job_17"
    reasons = body["matches"][0]["reasons"]
    assert ("examples", "learned") in [(reason["field"], reason["via"]) for reason in reasons]


def test_examples_of_inputs_are_ignored(server: Server):
    tools = [{"name": "add", "examples": [{"input": {"a": 1}}, 7, None, "", "sum up my bill"]}]
    assert server.search("sum up my bill", tools).json() == {"selected_names": ["add"]}


@pytest.mark.parametrize("examples", ["text", {"default": {"value": 1}}, 7])
def test_examples_of_another_shape_are_ignored(server: Server, examples: object):
    response = server.search("add", [{"name": "add", "examples": examples}])
    assert response.json() == {"selected_names": ["add"]}


def test_every_tool_of_many_keeps_an_example():
    words = ("amber", "birch", "cedar", "delta", "ember")
    tools = [
        {"name": f"run_{n:04}", "description": f"Job {n}",
         "examples": [f"{words[n % 5]} order {n} {k}" for k in range(16)]}
        for n in range(600)
    ]  # fmt: skip
    tools[-1]["examples"] = ["hand the numbers to the accountant"]
    asked = "hand the numbers to our accountant"
    assert Engine(tools).search(asked).names[0] == "run_0599"


def test_examples_that_are_no_nearer_than_other_tools_texts_leave_their_order():
    tools = [
        tool | {"examples": [f"write all {other['name'].split('_')[1]} to a file, and then others"]}
        for tool, other in zip(TOOLS, [TOOLS[-1], *TOOLS[:-1]], strict=True)
    ]
    asked = "write all orders into a file"
    assert Engine(tools).search(asked).names[0] == "export_orders"


def test_many_and_long_examples_are_cut():
    examples = [f"number {n} {'x' * 2_000}" for n in range(200)]
    assert Engine(with_examples(*examples)).search("number 3").names
