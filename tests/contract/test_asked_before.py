"""A question that was asked before is never answered by what has been replaced since."""

from itertools import count
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ACME_OLD, ZENITH
from tests.contract.learning import LEARNING, tell
from tests.support import TOOLS, Server

KEYS = st.sampled_from([ACME_OLD, ZENITH])
NAMES = [tool["name"] for tool in TOOLS]
QUESTIONS = st.sampled_from(["ship the parcel", "spin it around", "read a file"])
LISTS = [TOOLS, TOOLS[1:], [*TOOLS, {"name": "ship_parcel", "description": "Ship a parcel"}]]
NEVER_ASKED = count()

reports = st.builds(
    lambda key, pattern, tool, success: ("report", key, pattern, tool, success),
    *(KEYS, QUESTIONS, st.sampled_from(NAMES) | st.just("other_read_file"), st.booleans()),
)
steps = st.one_of(
    reports,
    reports,
    st.tuples(st.just("forget"), KEYS),
    st.tuples(st.just("put"), KEYS, st.integers(0, len(LISTS) - 1)),
)


def take(server: Server, step: tuple[Any, ...]) -> None:
    """Do what may change an answer."""
    what, key, *rest = step
    headers = {"x-api-key": key}
    if what == "report":
        pattern, tool, success = rest
        event = {"pattern": pattern, "tool": tool, "success": success}
        assert tell(server, event, key).status_code == 202
    elif what == "forget":
        assert server.client.delete(LEARNING, headers=headers).status_code == 204
    else:
        body = {"tools": LISTS[rest[0]]}
        put = server.client.put("/v1/catalogs/asked", json=body, headers=headers)
        assert put.status_code in (200, 201), put.text


def answer(server: Server, question: str, key: str, pins: list[str]) -> Any:
    fields = {"catalog": "asked", "explain": True, "always_keep": pins}
    body = server.post({"pattern": question} | fields, headers={"x-api-key": key}).json()
    return body["selected_names"], body["outcome"], body["matches"]


@given(taken=st.lists(steps, max_size=8), question=QUESTIONS)
def test_no_answer_is_older_than_a_report_a_deletion_or_new_tools(
    learning: Server, taken, question
):
    for key in (ACME_OLD, ZENITH):
        take(learning, ("forget", key))
        take(learning, ("put", key, 0))
    for step in taken:
        take(learning, step)
        for key in (ACME_OLD, ZENITH):
            repeated = answer(learning, question, key, [])
            # No tool has this name, so it changes nothing but that nobody has asked so.
            assert repeated == answer(learning, question, key, [f"no_tool_{next(NEVER_ASKED)}"])
