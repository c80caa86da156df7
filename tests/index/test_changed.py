"""A list of which a few tools have changed gets the catalog that compiling all of it makes."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support import ENGINE, TOOLS, compiled, crowd, select
from toolscout.index.catalog import Catalog
from toolscout.index.changed import (
    ENTRY_BYTES,
    MOST_CHANGED,
    MOST_CHANGED_BYTES,
    MOST_COMMAS,
    LatestLists,
    read_entries,
)
from toolscout.index.increment import Change, make_catalog
from toolscout.index.tool_list import MAX_TOOLS, ToolList

WORDS = "file issue create list user_id delete weather naïve 日本語 report acmeUser zzq".split()

word = st.sampled_from(WORDS)
tools = st.builds(
    lambda verb, noun, words, required, status: {
        "name": f"{verb}_{noun}",
        "description": " ".join(words),
        "parameters": {"type": "object", "required": required, "properties": {}},
        "status": status,
    },
    word,
    word,
    st.lists(word, max_size=8),
    st.lists(st.sampled_from(["user_id", "issue_id", "file"]), unique=True),
    st.sampled_from(["available", "unavailable"]),
)

DECLARING = {"functionDeclarations": [{"name": "first"}, {"name": "second"}]}


def lists(**sizes: int) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(tools, unique_by=lambda tool: tool["name"], **sizes)


def raw_of(tools: Sequence[Any]) -> bytes:
    return msgspec.json.encode(tools)


def latest_of(tools: Sequence[Any]) -> tuple[Catalog, LatestLists]:
    """Return a catalog, and lists of which its is the latest."""
    base, latest = compiled(tools), LatestLists(1 << 20)
    entries = read_entries(raw_of(tools), ToolList.decode(raw_of(tools)))
    assert entries is not None
    latest.keep("acme", base, entries)
    return base, latest


def change_of(before: Sequence[Any], raw: bytes) -> Change | None:
    """How a list differs from one that was compiled before."""
    base, latest = latest_of(before)
    return latest.compare("acme", raw, {base.digest: base}.get, MAX_TOOLS)


def changed(before: Sequence[Any], after: Sequence[Any]) -> Catalog | None:
    change = change_of(before, raw_of(after))
    return None if change is None else make_catalog(change, ENGINE.compiler)


def decisions(catalog: Catalog) -> list[Any]:
    patterns = ("create an issue", "delete user", "wether report", "list_file1", "日本語 zzq")
    asked = [select(catalog, pattern, prerequisites=True) for pattern in patterns]
    regex = select(catalog, "create|delete", ranker="regex")
    return [(each.names, each.ranking.scores.tolist(), each.outcome) for each in (*asked, regex)]


@given(lists(min_size=6, max_size=30), lists(max_size=3), st.data())
def test_it_is_the_same_catalog_to_the_last_bit(
    before: list[dict[str, Any]], new: list[dict[str, Any]], data: st.DataObject
):
    gone = data.draw(st.lists(st.sampled_from(before), max_size=2))
    names = {tool["name"] for tool in new}
    kept = [tool for tool in before if tool not in gone and tool["name"] not in names]
    after = [*new, *kept] if data.draw(st.booleans()) else [*kept[::-1], *new]
    made, whole = changed(before, after), compiled(after)
    assume(made is not None)  # else most of it is new
    assert made is not None
    assert (made.digest, made.names, made.wires) == (whole.digest, whole.names, whole.wires)
    assert made.nbytes == whole.nbytes
    assert made.vectors is not None
    assert whole.vectors is not None
    assert np.array_equal(made.vectors.rows, whole.vectors.rows)
    assert sorted(made.postings.vocabulary.terms()) == sorted(whole.postings.vocabulary.terms())
    assert decisions(made) == decisions(whole)


@pytest.mark.parametrize(
    "edit",
    [
        lambda tools: [{**tools[0], "description": "as of 2026-01-01"}, *tools[1:]],
        lambda tools: [*tools[::-1]],
        lambda tools: [*tools, {"name": "added"}],
        lambda tools: tools[1:],
        lambda tools: [*tools[:-1], {**tools[-1], "name": "renamed"}],
    ],
)
def test_a_few_changes_in_any_place_are_recognised(edit: Any):
    before = crowd(100)
    after = edit(before)
    made = changed(before, after)
    assert made is not None
    assert decisions(made) == decisions(compiled(after))


@pytest.mark.parametrize(
    "edit",
    [
        lambda tools: [*tools, *crowd(MOST_CHANGED + 1, "other")],
        lambda tools: tools[MOST_CHANGED + 1 :],
        lambda tools: [*tools, {"name": "long", "description": "x" * MOST_CHANGED_BYTES}],
        lambda tools: [*tools, tools[0]],
        lambda tools: [*tools, {**tools[0], "description": "of the same name"}],
        lambda tools: [*tools, {"name": "with", "examples": ["a request that it serves"]}],
        lambda tools: [*tools, {"name": 7}],
        lambda tools: [*tools, "no tool"],
        lambda tools: [*tools, DECLARING],
        lambda tools: [*tools, DECLARING, "no tool"],
        lambda tools: {"tools": tools},
        lambda tools: [],
        lambda tools: crowd(100, "other"),
    ],
)
def test_all_else_is_left_to_who_reads_the_whole_list(edit: Any):
    before = crowd(100)
    assert changed(before, edit(before)) is None


def test_a_list_of_which_an_entry_declares_several_tools_is_not_compared():
    raw = raw_of([*TOOLS, DECLARING])
    assert read_entries(raw, ToolList.decode(raw)) is None


def test_a_list_of_many_more_entries_is_not_even_split(monkeypatch: pytest.MonkeyPatch):
    base, latest = latest_of(TOOLS)
    monkeypatch.setattr("toolscout.index.changed.split_entries", pytest.fail)
    dense = raw_of([0] * (2 * MOST_CHANGED_BYTES))
    assert latest.compare("acme", dense, {base.digest: base}.get, MAX_TOOLS) is None


def test_a_list_full_of_commas_is_compared_with_none():
    tools = [{"name": "commas", "description": "," * MOST_COMMAS}, *crowd(3)]
    assert read_entries(raw_of(tools), ToolList.decode(raw_of(tools))) is None


def test_only_lists_that_are_still_compiled_are_compared():
    base, latest = latest_of(TOOLS)
    raw = raw_of(TOOLS)
    assert latest.compare("acme", raw, {base.digest: base}.get, MAX_TOOLS) is not None
    assert latest.compare("acme", raw, {}.get, MAX_TOOLS) is None
    assert latest.compare("zenith", raw, {base.digest: base}.get, MAX_TOOLS) is None


def test_a_list_of_which_a_tool_could_not_be_compiled_is_not_compared():
    base, latest = compiled(TOOLS[:-1]), LatestLists(1 << 20)
    entries = read_entries(raw_of(TOOLS), ToolList.decode(raw_of(TOOLS)))
    assert entries is not None
    latest.keep("acme", base, entries)
    assert latest.compare("acme", raw_of(TOOLS), {base.digest: base}.get, MAX_TOOLS) is None


def keep(latest: LatestLists, tools: Sequence[Any]) -> Catalog:
    base = compiled(tools)
    entries = read_entries(raw_of(tools), ToolList.decode(raw_of(tools)))
    assert entries is not None
    latest.keep("acme", base, entries)
    return base


def test_a_changed_list_is_recognised_whatever_else_its_caller_sends():
    latest = LatestLists(1 << 20)
    bases = [keep(latest, crowd(12, f"word{number}")) for number in range(20)]
    held = {base.digest: base for base in bases}
    for number, base in enumerate(bases):
        changed = [*crowd(12, f"word{number}"), *TOOLS[:1]]
        change = latest.compare("acme", raw_of(changed), held.get, MAX_TOOLS)
        assert change is not None
        assert change.base is base


def test_a_list_that_is_used_stays_known_for_longer():
    latest = LatestLists(30 * ENTRY_BYTES)
    first, second = (keep(latest, crowd(12, word)) for word in ("first", "second"))
    latest.touch("acme", first.digest)
    third = keep(latest, crowd(12, "third"))
    held = {base.digest: base for base in (first, second, third)}
    known = [
        latest.compare("acme", raw_of([*crowd(12, word), *TOOLS[:1]]), held.get, MAX_TOOLS)
        for word in ("first", "second", "third")
    ]
    assert [change is not None for change in known] == [True, False, True]


def test_lists_that_do_not_fit_together_leave_the_newest():
    latest = LatestLists(100 * ENTRY_BYTES)
    newest = crowd(60, "newest")
    for tools in (crowd(60), newest):
        entries = read_entries(raw_of(tools), ToolList.decode(raw_of(tools)))
        assert entries is not None
        latest.keep("acme", compiled(tools), entries)
    for tools, is_kept in ((crowd(60), False), (newest, True)):
        base = compiled(tools)
        change = latest.compare("acme", raw_of(tools), {base.digest: base}.get, MAX_TOOLS)
        assert (change is not None) == is_kept


def test_a_list_beyond_the_limit_is_left_to_who_refuses_it():
    before = crowd(100)
    base, latest = latest_of(before)
    raw = raw_of([*before, {"name": "one more"}])
    assert latest.compare("acme", raw, {base.digest: base}.get, 100) is None
    assert latest.compare("acme", raw, {base.digest: base}.get, 101) is not None
