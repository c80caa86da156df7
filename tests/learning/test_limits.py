"""What experience may not do: pass a filter, hide what worked, make a match of something else."""

from typing import Any

import pytest

from tests.support import Server
from toolscout import Engine
from toolscout.experience.reported import Observation
from toolscout.learning.learner import Learner
from toolscout.ranking.ask import Ask, Decision
from toolscout.ranking.explain import explain

JOBS = [
    {"name": "read_file", "description": "Read a text file"},
    {"name": "delete_invoice", "description": "Delete an invoice", "risk": "destructive"},
    {"name": "list_invoices", "description": "List all invoices"},
    {"name": "send_email", "description": "Send an email to somebody"},
    {"name": "play_song", "description": "Play a song or an album"},
    {"name": "get_stock_price", "description": "The price of a stock"},
]
FEEDBACK = "/v1/tool-discovery/feedback"


def found(server: Server, pattern: str, tools: list[dict[str, Any]], **fields: Any) -> list[str]:
    names: list[str] = server.search(pattern, tools, **fields).json()["selected_names"]
    return names


@pytest.mark.parametrize(
    "filters",
    [
        {"exclude": ["delete_invoice"]},
        {"only": ["read_file", "list_invoices"]},
        {"max_risk": "read_only"},
    ],
)
def test_no_report_and_no_example_passes_a_filter(server: Server, filters: dict[str, Any]):
    pattern = "get rid of the bill of acme"
    catalog = server.search(pattern, JOBS).headers["x-catalog-digest"]
    event = {"pattern": pattern, "tool": "delete_invoice", "success": True, "catalog": catalog}
    server.client.post(FEEDBACK, json={"events": [event] * 5})
    assert found(server, pattern, JOBS)[0] == "delete_invoice"
    assert "delete_invoice" not in found(server, pattern, JOBS, filters=filters)
    tools = [
        tool | {"examples": [pattern]} if tool["name"] == "delete_invoice" else tool
        for tool in JOBS
    ]
    assert "delete_invoice" not in found(server, pattern, tools, filters=filters)


def test_a_list_of_one_tool_is_found_by_its_examples_and_by_meaning():
    forecast = {"name": "get_weather", "description": "weather forecast"}
    examples = ["rain storm snow", "will it be sunny or rainy outside"]
    for tool in (forecast, forecast | {"examples": examples}):
        assert Engine([tool]).search("will it rain").names == ["get_weather"]


class Taught:
    """A tenant that has reported calls of these tools."""

    def __init__(self) -> None:
        self._engine = Engine(JOBS)
        self._catalog = self._engine.catalog
        self._learner = Learner(None, self._engine.embedder, lambda *_: self._catalog)

    async def tell(self, pattern: str, tool: str, times: int = 1, *, success: bool = True) -> None:
        seen = Observation(pattern, tool, success, catalog=self._catalog.digest)
        await self._learner.record("acme", [seen] * times)

    def ask(self, pattern: str) -> Decision:
        prior = self._learner.prior("acme", self._catalog)
        return self._engine.decide(self._catalog, Ask(pattern=pattern), prior=prior)


@pytest.mark.anyio
async def test_other_uses_of_a_tool_do_not_hide_what_worked():
    taught = Taught()
    await taught.tell("drop my team a line", "send_email", times=50)
    assert taught.ask("drop my team a cheerful line").outcome == "match"
    for other in ("rent a car", "boil an egg", "paint a fence", "tune a piano"):
        await taught.tell(other, "send_email")
        await taught.tell(f"how to {other} at night", "send_email", success=False)
    after = taught.ask("drop my team a cheerful line")
    assert after.outcome == "match"
    assert "send_email" in after.names[:2]


@pytest.mark.anyio
async def test_a_failure_puts_no_tool_out_of_the_answer():
    taught = Taught()
    await taught.tell("tell bob the news of today", "send_email", times=50)
    assert taught.ask("tell bob").names[0] == "send_email"
    await taught.tell("tell bob about the plans", "send_email", success=False)
    assert taught.ask("tell bob").names[0] == "send_email"


@pytest.mark.anyio
async def test_a_failure_makes_no_match_of_another_tool():
    taught = Taught()
    await taught.tell("tell me a story", "play_song", times=5)
    asked = "tell me a joke about the weather"
    before = taught.ask(asked).outcome
    await taught.tell(asked, "get_stock_price", success=False)
    assert taught.ask(asked).outcome == before != "match"


@pytest.mark.anyio
async def test_a_single_report_scores_no_tool_above_a_clear_match():
    taught = Taught()
    await taught.tell("send an email to bob", "play_song")
    decision = taught.ask("send an email to bob")
    assert decision.names[:2] == ["send_email", "play_song"]
    right, wrong = explain(decision)[:2]
    assert wrong.score < right.score
