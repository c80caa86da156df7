"""A list of tools that came before is known by its JSON, and is not read again."""

import subprocess
import sys
from typing import Any

import pytest

from tests.turns.flows import DONE, Model
from tests.turns.shapes import BY_NAME, Json
from toolscout.client.known import MIN_LIST_BYTES, KnownLists
from toolscout.client.offer import MAX_MADE
from toolscout.discovery import DiscoveryConfig, ToolDiscovery
from toolscout.turns.config import ApiConfig

OPENAI = BY_NAME["openai"]


def numbered(count: int) -> list[Json]:
    return [OPENAI.tool(f"tool_{n}", f"Does the thing of number {n}") for n in range(count)]


def test_equal_lists_are_one_that_no_caller_has():
    lists = KnownLists()
    mine = numbered(3)
    shared = lists.find_equal(mine)
    assert shared == mine
    assert lists.find_equal(numbered(3)) is shared
    assert not any(one is other for one, other in zip(shared, mine, strict=True))
    everything = lists.make_offer(mine).everything
    assert everything == tuple(mine)
    assert all(one is other for one, other in zip(everything, mine, strict=True))


def test_the_least_recently_used_lists_make_room():
    lists = KnownLists(2 * MIN_LIST_BYTES)
    kept = [lists.find_equal(numbered(count)) for count in (1, 2)]
    assert lists.find_equal(numbered(1)) is kept[0]
    lists.find_equal(numbered(3))
    assert lists.size <= 2 * MIN_LIST_BYTES
    assert lists.find_equal(numbered(1)) is kept[0]
    assert lists.find_equal(numbered(2)) is not kept[1]


def test_lists_are_shared_until_their_last_owner_is_gone():
    """Shown in a process of its own, where nothing else owns any."""
    script = """
import gc
import weakref
from toolscout.client import Selector
from toolscout.client.known import share_lists
from toolscout.discovery import ToolDiscovery
owners = [Selector("http://127.0.0.1:9"), ToolDiscovery("http://127.0.0.1:9")]
lists = weakref.ref(share_lists())
while owners:
    assert share_lists() is lists() is not None
    owners.pop()
    gc.collect()
assert lists() is None
"""
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("odd", [("a", "tuple"), {1: "a number as a key"}, object()])
def test_what_json_would_change_is_not_known(odd):
    tools = [{"name": "a", "description": "b", "parameters": odd}]
    assert KnownLists().find_equal(tools) is None


def test_what_a_hook_does_to_a_tool_reaches_no_other_call(flow):
    sent: list[str] = []

    def hooked(request: Json) -> Json:
        function = request["tools"][1]["function"]
        sent.append(function["description"])
        function["description"] += " CHANGED"
        return OPENAI.response(DONE)

    for _ in range(3):
        request = OPENAI.request("please", numbered(20), **OPENAI.forcing("tool_7"))
        flow().complete(request, hooked)
    assert sent == ["Does the thing of number 7"] * 3


def test_an_offer_remembers_few_things():
    offer = KnownLists().make_offer(numbered(3))
    for number in range(100):
        assert offer.once(number, [number].copy) == [number]
    assert len(offer._made) <= MAX_MADE


def test_a_tool_that_its_caller_changes_is_sent_as_it_is_now(flow):
    tools = numbered(20)
    model = Model(OPENAI, DONE)
    proxy = flow()
    for text in ("Opens a file", "Opens a file or a folder"):
        tools[7]["function"]["description"] = text
        request = OPENAI.request("please", tools, **OPENAI.forcing("tool_7"))
        proxy.complete(request, model)
    sent = [tool["function"]["description"] for r in model.requests for tool in r["tools"][1:]]
    assert sent == ["Opens a file", "Opens a file or a folder"]


def calls_of(work: Any) -> int:
    """Count the functions that are called, of Python and of C."""
    count = 0

    def counted(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_a_turn_with_known_tools_costs_the_same_however_many_they_are():
    config = DiscoveryConfig(enabled=True, strategy="api", api=ApiConfig("http://127.0.0.1:9"))
    discovery = ToolDiscovery(config)
    answer = OPENAI.response(DONE)

    def cost_of(count: int) -> int:
        request = OPENAI.request("please", numbered(count))
        return calls_of(lambda: discovery.complete(request, lambda _: answer))

    few, _, first, again = map(cost_of, (30, 30, 300, 300))
    assert again < few < first / 4
    discovery.close()
