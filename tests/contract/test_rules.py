"""The rules that always hold, as properties over generated catalogs."""

import random
import unicodedata
from typing import Any

import msgspec
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.catalogs import catalogs, distinct_catalogs, identifiers, names, patterns, rankers, tools
from tests.conftest import ZENITH
from tests.support import TOOLS, Server, compiled, crowd, select
from toolscout.ranking.ask import Decision
from toolscout.ranking.calibration import WEAK
from toolscout.ranking.judge import score

top_ks = st.sampled_from([1, 2, 3, 5, 50])


@given(distinct_catalogs(), patterns, rankers)
def test_sending_every_tool_twice_changes_nothing(sent, pattern, ranker):
    assert select(sent, pattern, ranker=ranker).names == (
        select(sent + sent, pattern, ranker=ranker).names
    )


def without_evidence(decision: Decision, pins: list[str], sent: list[Any]) -> list[str]:
    """Return the pins that the query does not want, neither by score nor by name."""
    rows = compiled(sent).rows
    named = {mention.row for mention in decision.ranking.mentions}
    return [
        pin for pin in pins if rows[pin] not in named and score(decision.ranking, rows[pin]) < WEAK
    ]


@given(st.data(), distinct_catalogs(), patterns, top_ks, rankers)
def test_pins_are_in_the_answer_and_those_without_evidence_end_it(
    data, sent, pattern, top_k, ranker
):
    there = [tool["name"] for tool in sent]
    pins = data.draw(st.lists(st.sampled_from([*there, "nowhere"]), max_size=8))
    decision = select(sent, pattern, top_k=top_k, ranker=ranker, always_keep=pins)
    present = [name for name in dict.fromkeys(pins) if name in there]
    if decision.outcome == "no_match":
        assert decision.names == []
        return
    last = without_evidence(decision, present, sent)
    kept = [name for name in last if name in decision.names]
    assert kept == last[: len(kept)]
    assert decision.names[len(decision.names) - len(kept) :] == kept
    assert len(set(present) & set(decision.names)) >= min(len(present), top_k - 1)
    assert len(kept) < top_k


@given(st.data(), distinct_catalogs(), patterns, rankers)
def test_a_pin_that_matches_keeps_its_rank(data, sent, pattern, ranker):
    there = [tool["name"] for tool in sent]
    pins = data.draw(st.lists(st.sampled_from(there), max_size=8))
    alone = select(sent, pattern, top_k=len(sent), ranker=ranker)
    room = len(sent) + len(pins)
    pinned = select(sent, pattern, top_k=room, ranker=ranker, always_keep=pins)
    if alone.outcome != "no_match":
        last = set(without_evidence(pinned, list(dict.fromkeys(pins)), sent))
        ranked = [name for name in pinned.names if name not in last]
        assert ranked == [name for name in alone.names if name not in last]


@given(st.data(), distinct_catalogs(), patterns, top_ks, rankers)
def test_pins_leave_the_first_slot_to_the_best_match(data, sent, pattern, top_k, ranker):
    pins = data.draw(st.lists(st.sampled_from([tool["name"] for tool in sent]), max_size=8))
    decision = select(sent, pattern, top_k=top_k, ranker=ranker, always_keep=pins)
    alone = select(sent, pattern, top_k=top_k, ranker=ranker).names
    if decision.names and alone[0] not in without_evidence(decision, pins, sent):
        assert decision.names[0] == alone[0]


@given(catalogs(), patterns, rankers)
def test_nothing_is_selected_exactly_when_nothing_matches(sent, pattern, ranker):
    decision = select(sent, pattern, ranker=ranker)
    assert decision.outcome in ("match", "weak", "no_match")
    assert (decision.names == []) == (decision.outcome == "no_match")


def folded(name: str) -> str:
    """Letters and digits alone: names that agree in them are aliases of each other."""
    bare = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    return "".join(char for char in bare if char.isalnum()).removeprefix("mcpsrv")


def spellings(name: str) -> list[str]:
    """Return the forms by which a model may call a tool whose name has several words."""
    parts = name.removeprefix("mcp__srv__").split("_")
    camel = parts[0] + "".join(part.title() for part in parts[1:])
    return [
        name,
        camel,
        camel[0].upper() + camel[1:],
        "-".join(parts),
        " ".join(parts),
        "_".join(parts).upper(),
        "stats." + "_".join(parts),
        "mcp__github__" + "_".join(parts),
        f"`{name}`",
        f'"{name}"',
    ]


snake = identifiers().filter(lambda name: name.replace("_", "").islower() and "-" not in name)


@given(
    st.data(),
    st.lists(tools(snake), min_size=1, max_size=8, unique_by=lambda t: folded(t["name"])),
    st.sampled_from(["", "please call ", "i would like to "]),
    st.sampled_from(["", " for me", " now, thanks"]),
    rankers,
)
def test_any_form_of_a_name_in_a_query_is_kept_and_is_first_if_sure(
    data, sent, before, after, ranker
):
    for tool in sent:  # the names inside definitions are further aliases: none may interfere
        tool.pop("definition", None)
        tool.pop("parameters", None)
    assume(not any("." in tool["name"] for tool in sent))
    name = data.draw(st.sampled_from([tool["name"] for tool in sent]))
    query = before + data.draw(st.sampled_from(spellings(name))) + after
    for tools_sent in (sent, sent + crowd(30)):
        found = select(tools_sent, query, ranker=ranker, top_k=2)
        assert name in found.names
        # Plain words of a sentence may be a name by accident: they are kept, and need not lead.
        if any(mention.sure for mention in found.ranking.mentions):
            assert found.names[0] == name


@given(st.lists(names, min_size=1, max_size=6, unique_by=folded))
@example(["東京の天気", "大阪の天気"])
@example(["Überweisung", "Zürich"])
def test_a_name_as_the_whole_pattern_finds_its_tool(sent):
    assume(all(folded(name) for name in sent))
    catalog = compiled([{"name": name} for name in sent])
    for name in sent:
        assert select(catalog, name, top_k=1).names == [name]


@pytest.mark.parametrize("name", ["🔥", "__", "→ next", "+"])
def test_a_name_of_symbols_finds_its_tool(name: str):
    assert select([*TOOLS, {"name": name}], name, top_k=1).names == [name]


@pytest.mark.parametrize(
    "similar", [["get_user", "getUser"], ["c", "c++", "c#"], ["Read", "read"], ["a.b", "a_b"]]
)
def test_the_exact_spelling_goes_before_an_alias(similar: list[str]):
    catalog = compiled([{"name": name} for name in similar])
    assert [select(catalog, name, top_k=1).names[0] for name in similar] == similar


@given(patterns, st.sampled_from(["", None, "{}"]), rankers)
def test_tools_without_any_text_are_still_tools(pattern, description, ranker):
    sent = [{"name": f"tool_{n}", "description": description} for n in range(3)]
    assert set(select(sent, pattern, ranker=ranker).names) <= {"tool_0", "tool_1", "tool_2"}
    assert select(sent, "tool_1", top_k=1, ranker=ranker).names == ["tool_1"]


@given(distinct_catalogs(), patterns)
def test_names_inside_definitions_are_never_keys(sent, pattern):
    for number, tool in enumerate(sent):
        tool["definition"] = {"function": {"name": f"inner_{number}"}}
    chosen = select(sent, "inner_0").names
    assert chosen[:1] == [sent[0]["name"]]
    assert not any(name.startswith("inner_") for name in select(sent, pattern).names)


@pytest.mark.parametrize("ranker", ["bm25", "semantic", "hybrid", "rrf", "okapi", "regex", "auto"])
def test_ties_break_by_name(ranker: str):
    alike = ["tool_same", "toolSame", "tool-same"]
    sent: list[dict[str, Any]] = [{"name": n, "description": "Forecasts rain"} for n in alike]
    chosen = select([*sent, *TOOLS[4:]], "forecasts of rain", top_k=3, ranker=ranker).names
    assert chosen == sorted(alike)


def test_thousands_of_tools_keep_the_rules():
    chance = random.Random(7)
    sent = crowd(4_000) + TOOLS
    chance.shuffle(sent)
    catalog = compiled(sent + sent)
    assert len(catalog) == 4_000 + len(TOOLS)
    for tool in TOOLS:
        assert select(catalog, tool["name"], top_k=1).names == [tool["name"]]
        assert select(catalog, tool["description"], top_k=1).names == [tool["name"]]
    assert msgspec.json.encode(select(sent[::-1], "spin gadget 17").names) == (
        msgspec.json.encode(select(catalog, "spin gadget 17").names)
    )


# The same rules, over the wire.


@given(sent=catalogs(), pattern=patterns, top_k=st.integers(1, 6), ranker=rankers)
def test_every_answer_keeps_the_rules(server: Server, sent, pattern, top_k, ranker):
    pins = [tool["name"] for tool in sent[:2]]
    response = server.search(pattern, sent, top_k=top_k, ranker=ranker, always_keep=pins)
    assert response.status_code == 200, response.text
    body = response.json()
    assert list(body) == ["selected_names"]
    chosen = body["selected_names"]
    assert set(chosen) <= {tool["name"] for tool in sent}
    assert len(chosen) == len(set(chosen)) <= top_k


@given(sent=distinct_catalogs(), pattern=patterns, chance=st.randoms(use_true_random=False))
def test_reordering_the_tools_gives_the_same_bytes(server: Server, sent, pattern, chance):
    shuffled = list(sent)
    chance.shuffle(shuffled)
    first, second = server.search(pattern, sent), server.search(pattern, shuffled)
    assert first.content == second.content
    assert first.headers["x-catalog-digest"] == second.headers["x-catalog-digest"]


def test_every_process_gives_the_same_answer(server: Server, keyed: Server):
    tools = TOOLS + crowd(200, "shim")
    for pattern in ("read a file", "spin the shim around", "serch code", "weather|mail", "picture"):
        first = server.search(pattern, tools, explain=True).json()
        headers = {"x-api-key": ZENITH}
        second = keyed.search(pattern, tools, explain=True, headers=headers).json()
        for field in ("selected_names", "matches", "outcome", "counts", "catalog"):
            assert first[field] == second[field]
