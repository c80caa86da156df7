"""The same question of the same tools is decided once."""

import gc
import weakref

import pytest

from tests.support import ENGINE, compiled
from toolscout import Engine
from toolscout.contract.fields import RankerName
from toolscout.contract.requests import Filters
from toolscout.experience.prior import LearnedIndex, prior_of
from toolscout.experience.reported import Experience, Observation
from toolscout.index.cache import CatalogCache
from toolscout.index.pattern_vectors import pack_text, unpack
from toolscout.index.tool_list import ToolList
from toolscout.ranking.ask import Ask, Learned, Prior
from toolscout.ranking.explain import explain, write_notes
from toolscout.text.conversation import Earlier

TOOLS = [
    {"name": "read_file", "description": "Read a text file from disk"},
    {"name": "send_email", "description": "Send a message to an address"},
    {"name": "list_events", "description": "List events of a calendar"},
]


@pytest.mark.parametrize(
    "ask",
    [
        Ask(pattern="read a file"),
        Ask(pattern="zzz qqq"),
        Ask(pattern="send_email"),
        Ask(pattern="mail it", top_k=1, always_keep=("list_events",), ranker="bm25"),
        Ask(pattern="mail it", filters=Filters(only=("send_email",))),
    ],
)
def test_a_remembered_decision_is_the_one_that_was_made(ask: Ask) -> None:
    catalog = compiled(TOOLS)
    assert ENGINE.recall(catalog, ask) is None
    made = ENGINE.decide(catalog, ask)
    found = ENGINE.recall(catalog, ask)
    assert found is not None
    assert (found.names, found.outcome, explain(found)) == (
        made.names,
        made.outcome,
        explain(made),
    )
    assert found.ranking.source is catalog


def test_who_changes_an_answer_changes_no_later_one() -> None:
    engine = Engine(TOOLS)
    first = engine.search("read a file").names
    kept = list(first)
    first.clear()
    assert engine.search("read a file", explain=True).names == kept


def test_another_question_or_catalog_has_a_decision_of_its_own() -> None:
    catalog, other = compiled(TOOLS), compiled(TOOLS[1:])
    ENGINE.decide(catalog, Ask(pattern="read a file"))
    assert ENGINE.recall(catalog, Ask(pattern="read a file", top_k=1)) is None
    assert ENGINE.recall(other, Ask(pattern="read a file")) is None


def test_what_depends_on_more_than_question_and_tools_is_not_remembered() -> None:
    catalog, ask = compiled(TOOLS), Ask(pattern="read a file")
    ENGINE.decide(catalog, ask, prior=Prior(lambda *_: Learned(0.0, {}, {})))
    ENGINE.decide(catalog, ask, degraded="bm25")
    ENGINE.decide(catalog, Ask(pattern="read|send"))
    assert ENGINE.recall(catalog, ask) is None
    assert ENGINE.recall(catalog, Ask(pattern="read|send")) is None


def test_a_decision_is_remembered_until_the_experience_with_its_tools_changes() -> None:
    catalog, ask, experience = compiled(TOOLS), Ask(pattern="water the plants"), Experience()
    keys = [(name, "") for name in catalog.names]

    def learn(tool: str) -> None:
        vector = unpack(pack_text("water the plants", ENGINE.embedder))
        experience.learn(Observation("", tool, True), vector)

    learn("send_email")
    index = LearnedIndex(keys, experience, 0.0)
    made = ENGINE.decide(catalog, ask, prior=prior_of(index))
    assert ENGINE.recall(catalog, ask) is None
    found = ENGINE.recall(catalog, ask, prior=prior_of(index))
    assert found is not None
    assert (found.names, explain(found)) == (made.names, explain(made))
    learn("of_another_list")
    assert index.bring_up_to_date(experience, 0.0)
    assert ENGINE.recall(catalog, ask, prior=prior_of(index)) is not None
    learn("read_file")
    assert index.bring_up_to_date(experience, 0.0)
    assert ENGINE.recall(catalog, ask, prior=prior_of(index)) is None


def test_a_changed_tool_is_found_by_the_question_that_was_asked_before() -> None:
    engine = Engine(TOOLS)
    assert engine.search("water the plants").names == []
    engine.add([{"name": "water_plants", "description": "Water the plants of a garden"}])
    assert engine.search("water the plants").names[0] == "water_plants"
    assert engine.search("water the plants", filters=Filters(tags=["x"])).names == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "ask",
    [
        Ask(pattern="read a file " * 1_000),
        Ask(pattern="read a file", always_keep=tuple(f"pin_{n}" for n in range(100))),
        Ask(pattern="read a file", filters=Filters(exclude=tuple(f"x_{n}" for n in range(100)))),
        Ask(pattern="read a file", earlier=(Earlier("send it", 0.5),)),
    ],
)
def test_long_questions_take_no_memory(ask: Ask) -> None:
    catalog = compiled(TOOLS)
    ENGINE.decide(catalog, ask)
    assert ENGINE.recall(catalog, ask) is None


def test_remembered_decisions_keep_no_dropped_catalog_in_memory() -> None:
    catalog = compiled([*TOOLS, {"name": "once", "description": "Seen once"}])
    ENGINE.decide(catalog, Ask(pattern="seen once"))
    dropped = weakref.ref(catalog)
    del catalog
    gc.collect()
    assert dropped() is None


@pytest.mark.parametrize("ranker", ["auto", "hybrid", "semantic", "rrf"])
def test_no_tools_are_no_reason_to_run_another_ranker(ranker: RankerName) -> None:
    listed, _ = ENGINE.compiler.lexical(ToolList.decode(b"[]"), CatalogCache().tools("acme"))
    decision = ENGINE.decide(listed, Ask(pattern="x", ranker=ranker))
    assert decision.ranking.ranker == ("hybrid" if ranker == "auto" else ranker)
    assert (decision.degraded, decision.outcome) == (None, "no_match")
    assert write_notes(decision.ranking) == []
