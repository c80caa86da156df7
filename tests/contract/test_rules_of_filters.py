"""The rules hold with labels, filters, limits and sessions, in every ranker and rung."""

import random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.catalogs import RISKS, filters, labelled_catalogs, patterns, rankers
from tests.support import compiled, select
from toolscout.contract.requests import Context, Filters, Session, Use
from toolscout.index.cold import ColdCatalog
from toolscout.index.tool_list import ToolList
from toolscout.ranking.ask import Ask
from toolscout.ranking.judge import score
from toolscout.ranking.pipeline import decide
from toolscout.text.domains import load_bundled
from toolscout.tools.filters import is_passing, labels_of, write_labels
from toolscout.tools.traits import read_traits

top_ks = st.sampled_from([1, 2, 5, 50])


def forbidden(sent: list, asked: Filters) -> set[str]:
    """Names that may not be selected, said once more in plain words."""
    found = set()
    for tool in ToolList.decode(msgspec.json.encode(sent)).tools:
        known = read_traits(tool, load_bundled())
        parts = known.namespace.lower().split(".")
        spaces = {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
        passes = known.available and (
            asked.max_risk is None or RISKS.index(known.risk) <= RISKS.index(asked.max_risk)
        )
        for wanted, has in (
            (asked.namespaces, spaces),
            (asked.domains, {known.domain}),
            (asked.tags, set(known.tags)),
            (asked.sources, {known.source}),
            (asked.capabilities, set(known.capabilities)),
        ):
            alike = {value.lower() for value in has if value} & {v.lower() for v in wanted or ()}
            passes = passes and (not wanted or bool(alike))
        if not passes or tool.name in (asked.exclude or ()):
            found.add(tool.name)
    return found


@given(st.data(), labelled_catalogs(), patterns, filters, top_ks, rankers)
def test_no_forbidden_tool_is_ever_selected(data, sent, pattern, asked, top_k, ranker):
    there = [tool["name"] for tool in sent]
    pins = data.draw(st.lists(st.sampled_from(there), max_size=4))
    exclude = tuple(data.draw(st.lists(st.sampled_from(there), max_size=2)))
    asked = msgspec.structs.replace(asked, exclude=exclude)
    banned = forbidden(sent, asked)
    fields = {"pattern": pattern, "top_k": top_k, "always_keep": pins, "filters": asked}
    decisions = [
        select(sent, ranker=ranker, **fields),
        decide(ColdCatalog(ToolList.decode(msgspec.json.encode(sent))), Ask(**fields)),
    ]
    for decision in decisions:
        assert set(decision.names) <= set(there) - banned
        assert len(decision.names) == len(set(decision.names)) <= top_k
        if decision.outcome != "no_match":
            kept = {name for name in pins if name not in banned}
            assert len(kept & set(decision.names)) >= min(len(kept), top_k - 1)


@given(labelled_catalogs(), filters)
def test_tools_pass_alike_before_and_after_they_are_compiled_and_in_a_database(sent, asked):
    tools = {tool.name: tool for tool in ToolList.decode(msgspec.json.encode(sent)).tools}
    catalog = compiled(sent)
    after = catalog.facets.find_passing(asked, catalog.rows)
    for row, name in enumerate(catalog.names):
        tool, traits = tools[name], catalog.traits(row)
        there = all(set(write_labels(tool, traits)) & set(some) for some in labels_of(asked))
        assert is_passing(tool, asked, load_bundled()) == there == after[row]


@given(labelled_catalogs(), patterns, filters, rankers, st.randoms(use_true_random=False))
def test_order_does_not_matter_and_answers_repeat(sent, pattern, asked, ranker, chance):
    shuffled = list(sent)
    chance.shuffle(shuffled)
    first = select(sent, pattern, filters=asked, ranker=ranker)
    again = select(compiled(shuffled), pattern, filters=asked, ranker=ranker)
    assert (first.names, first.outcome) == (again.names, again.outcome)


@given(labelled_catalogs(), patterns, rankers)
def test_a_filter_that_all_pass_changes_nothing(sent, pattern, ranker):
    chance = random.Random(1)
    chance.shuffle(sent)
    everything = Filters(max_risk="destructive", exclude=("nobody",), tags=())
    assert (
        select(sent, pattern, filters=everything, ranker=ranker).names
        == select(sent, pattern, ranker=ranker).names
    )


@given(
    st.data(),
    labelled_catalogs(),
    patterns,
    top_ks,
    rankers,
    st.sampled_from([0.0, 0.05, 0.3, 1.0]),
    st.sampled_from([None, 0, 10, 40]),
)
def test_pins_beat_least_score_and_budget(data, sent, pattern, top_k, ranker, least, budget):
    catalog = compiled(sent)
    there = [tool["name"] for tool in sent if tool.get("status") != "unavailable"]
    pins = data.draw(st.lists(st.sampled_from(there), max_size=4)) if there else []
    fields = {"pattern": pattern, "top_k": top_k, "ranker": ranker, "always_keep": pins}
    free = select(catalog, **fields)
    decision = select(catalog, min_score=least, budget_tokens=budget, **fields)
    assert decision.outcome == free.outcome
    if decision.outcome != "no_match":
        kept = set(pins)
        assert len(kept & set(decision.names)) >= min(len(kept), top_k - 1)
    assert len(decision.names) == len(set(decision.names)) <= top_k
    others = [name for name in decision.names if name not in pins]
    assert all(score(decision.ranking, catalog.rows[name]) >= least for name in others)
    if budget is None:
        assert set(decision.names) <= set(free.names)
    elif others:
        assert sum(int(catalog.tokens[row]) for row in decision.rows) <= budget


@given(st.data(), labelled_catalogs(), patterns, top_ks, rankers, st.randoms(use_true_random=False))
def test_session_and_context_keep_the_rules(data, sent, pattern, top_k, ranker, chance):
    there = [tool["name"] for tool in sent if tool.get("status") != "unavailable"]
    some = st.lists(st.sampled_from([*there, "nowhere"]), max_size=4)
    pins = data.draw(some)
    uses = [
        Use(name, data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9)), chance.randint(0, 9))
        for name in data.draw(some)
    ]
    session = Session(recent=tuple(uses), expanded=tuple(data.draw(some)))
    context = Context(files=("Dockerfile", "a.tf"), signals=tuple(data.draw(some)))
    fields = {"pattern": pattern, "top_k": top_k, "ranker": ranker, "always_keep": pins}
    free = select(sent, **fields)
    fields |= {"session": session, "context": context}
    decision = select(sent, **fields)
    chance.shuffle(sent)
    assert decision.names == select(compiled(sent), **fields).names
    assert decision.outcome == free.outcome
    assert set(decision.names) <= set(there)
    assert len(decision.names) == len(set(decision.names)) == len(free.names) <= top_k
    kept = {name for name in pins if name in there}
    if decision.outcome != "no_match":
        assert len(kept & set(decision.names)) >= min(len(kept), top_k - 1)
