"""`always_keep: auto`: the tools that a caller's conversations call most are visible at once."""

import pytest

from tests.client.upstream import Exchange, peer
from tests.turns.flows import DONE, Model
from tests.turns.shapes import BY_NAME, Said
from toolscout.discovery import DiscoveryConfig, ToolDiscovery
from toolscout.discovery.session import HALVED_AT, MAX_MOST_CALLED, SessionStore

SHAPE = BY_NAME["openai"]
TOOLS = [SHAPE.tool(f"tool_{number}", f"Does thing {number}") for number in range(60)]


def calling(*names: str) -> Said:
    return Said("", tuple((f"c{at}", name, {}) for at, name in enumerate(names)))


@pytest.fixture
def discovery():
    def script(exchange: Exchange) -> None:
        exchange.select()

    with peer(script) as fake:
        made = ToolDiscovery(fake.url, timeout=5, always_keep=["auto", "tool_59"])
        yield made
        made.close()


def seen(discovery: ToolDiscovery, text: str, said: Said = DONE, scope: str = "") -> list[str]:
    """Return the tools that a model sees at the beginning of a conversation."""
    model = Model(SHAPE, said)
    discovery.complete(SHAPE.request(text, TOOLS), model, SHAPE.name, scope=scope)
    return [name for name in model.seen(0) if name.startswith("tool_")]


def test_what_conversations_call_is_visible_in_the_next(discovery: ToolDiscovery):
    assert seen(discovery, "one", calling("tool_7", "tool_8")) == ["tool_59"]
    assert seen(discovery, "two", calling("tool_7", "tool_9")) == ["tool_59"]
    assert sorted(seen(discovery, "three")) == ["tool_59", "tool_7"]


def test_a_conversation_keeps_what_it_began_with(discovery: ToolDiscovery):
    assert seen(discovery, "early") == ["tool_59"]
    for text in ("one", "two"):
        seen(discovery, text, calling("tool_7"))
    assert seen(discovery, "early") == ["tool_59"]
    assert "tool_7" in seen(discovery, "late")


def test_callers_do_not_see_what_others_call(discovery: ToolDiscovery):
    for text in ("one", "two"):
        seen(discovery, text, calling("tool_7"), scope="ann")
    assert seen(discovery, "three", scope="bob") == ["tool_59"]
    assert "tool_7" in seen(discovery, "three", scope="ann")


def test_tools_that_are_not_offered_are_not_shown(discovery: ToolDiscovery):
    for text in ("one", "two"):
        seen(discovery, text, calling("made_up", "tool_7"))
    assert sorted(seen(discovery, "three")) == ["tool_59", "tool_7"]


def test_the_word_goes_to_no_service():
    asked: list[list[str]] = []

    def script(exchange: Exchange) -> None:
        asked.append(exchange.json.get("always_keep", []))
        exchange.select("tool_1")

    with peer(script) as fake:
        made = ToolDiscovery(fake.url, timeout=5, always_keep="auto")
        seen(made, "one")
        made.close()
    assert asked == [[]]


@pytest.mark.parametrize("given", ["auto", ["auto", "ask_user"]])
def test_it_is_a_word_in_the_file(given):
    config = DiscoveryConfig.of({"enabled": True, "strategy": "api", "always_keep": given})
    assert config.keeps_most_called
    assert config.pins == (() if given == "auto" else ("ask_user",))


def test_rare_and_few_are_not_the_most_called():
    store = SessionStore()
    store.count_calls("", [f"common_{n % 50}" for n in range(5_000)])
    store.count_calls("", ["rare"] * 49)
    names = store.most_called("", "")
    assert len(names) == MAX_MOST_CALLED
    assert "rare" not in names
    assert SessionStore().most_called("", "") == ()


def test_what_is_called_now_counts_more_than_what_was():
    store = SessionStore()
    store.count_calls("", ["before"] * (HALVED_AT - 1))
    for _ in range(20):
        store.count_calls("", ["now"] * (HALVED_AT // 2))
    assert store.most_called("", "") == ("now",)
