"""Turns over the wire: named by a search, and by feedback instead of its pattern."""

from typing import Any

import pytest

from tests.conftest import ACME_OLD, ZENITH
from tests.contract.learning import WORKED, names, tell
from tests.contract.test_chains import CHAINS, REPORT
from tests.support import SEARCH, TOOLS, Server, problem_of
from toolscout.contract.bounds import MAX_TURN_CHARS

TOLD = {"tool": "resize_image", "success": True}


def accepted(server: Server, body: Any, key: str = ACME_OLD) -> int:
    answer = tell(server, body, key)
    assert answer.status_code == 202, answer.text
    return answer.json()["accepted"]


def test_every_pattern_of_a_batch_may_have_a_turn(empty: Server):
    body = {"patterns": ["a", {"pattern": "ship the parcel", "turn": "b-1"}], "tools": TOOLS}
    answer = empty.post(body, SEARCH + ":batch", {"x-api-key": ACME_OLD})
    assert answer.status_code == 200
    assert accepted(empty, TOLD | {"turn": "b-1"}) == 1


def test_turns_of_tenants_are_apart(empty: Server):
    names(empty, turn="of-acme")
    assert accepted(empty, TOLD | {"turn": "of-acme"}, ZENITH) == 0


def test_a_turn_is_bounded(empty: Server):
    longest = "ü" * MAX_TURN_CHARS
    names(empty, turn=longest)
    assert accepted(empty, TOLD | {"turn": longest}) == 1
    key = {"x-api-key": ACME_OLD}
    for path, body in (
        (SEARCH, {"pattern": "ship", "tools": TOOLS, "turn": longest + "ü"}),
        (CHAINS, REPORT | {"turn": longest + "ü"}),
    ):
        problem_of(empty.post(body, path, key), 422, "invalid_request")
    problem_of(tell(empty, WORKED | {"turn": longest + "ü"}), 422, "invalid_request")


@pytest.mark.parametrize("turn", ["", None])
def test_an_empty_turn_is_none(empty: Server, turn: str | None):
    assert names(empty, turn=turn)
    problem = problem_of(tell(empty, TOLD | {"turn": turn}), 422, "invalid_request")
    assert problem["errors"][0]["path"] == "pattern"
    assert [accepted(empty, WORKED | {"turn": turn}) for _ in range(2)] == [1, 1]


def test_a_turn_changes_no_answer(empty: Server):
    key = {"x-api-key": ACME_OLD}
    body = {"pattern": "ship the parcel", "tools": TOOLS}
    plain = empty.post(body, SEARCH, key).content
    assert empty.post(body | {"turn": "any"}, SEARCH, key).content == plain


def test_a_chain_that_is_sent_again_counts_once(empty: Server):
    def sent(body: Any) -> int:
        return empty.post(body, CHAINS, {"x-api-key": ACME_OLD}).json()["accepted"]

    assert [sent(REPORT | {"turn": "again"}) for _ in range(2)] == [1, 0]
    assert sent(REPORT | {"turn": "again", "success": False}) == 1
