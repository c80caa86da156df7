"""Documented behaviour of other systems holds here, for each kind of case."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.ranking.kinds import KINDS, check
from toolscout import Engine
from toolscout.contract.requests import Filters
from toolscout.index.static_model import BUNDLED_MODEL

UNRELATED = (
    *("feed_zebra", "bathe_elephant", "groom_lion", "weigh_penguin", "vaccinate_giraffe"),
    *("brush_rabbit", "tame_tiger", "milk_goat", "shear_sheep", "saddle_camel"),
)
"""Tools that have nothing to do with the words of the synonyms."""

BEYOND_SEARCH = sorted(KINDS.keys() - {"search"})


def test_every_kind_beside_plain_searches_holds(data: Path):
    seen: Counter[str] = Counter()
    for name in ("chuk", "gatemini", "locus"):
        for case in json.loads((data / "cases" / f"{name}.json").read_text("utf-8"))["cases"]:
            kind = "filters" if case.get("filters") else case["kind"]
            if kind in (*BEYOND_SEARCH, "filters") and not case.get("aliases"):
                seen[kind] += 1
                got, failures = check(case, str(BUNDLED_MODEL))
                assert not failures, (case["id"], got, failures)
    assert set(seen) == {*BEYOND_SEARCH, "filters"}


@pytest.mark.parametrize("place", [0, 1])
def test_a_synonym_finds_its_tool_among_unrelated_ones(data: Path, place: int):
    others = [
        {"name": name, "description": f"{name.replace('_', ' ').capitalize()} of the zoo"}
        for name in UNRELATED
    ]
    pairs = json.loads((data / "cases" / "synonyms.json").read_text("utf-8"))["pairs"]
    missed = []
    for pair in pairs:
        word, asked = pair[place], pair[1 - place]
        wanted = {"name": f"{word}_item", "description": f"Does the {word} of an item"}
        if Engine([*others, wanted]).search(asked).names[:1] != [f"{word}_item"]:
            missed.append((asked, word))
    assert len(pairs) == 170
    assert len(missed) <= 5, missed


def test_a_bare_name_has_the_domain_of_its_namespace(data: Path):
    tools = json.loads((data / "cases" / "namespaces.json").read_text("utf-8"))["tools"]
    engine = Engine([{"name": tool["name"]} for tool in tools])
    shown, filtered = [], []
    for tool in tools:
        (first,) = engine.search(tool["name"], 1, detail="brief").tools
        shown.append((first.name, first.domain) == (tool["name"], tool["domain"]))
        filters = Filters(domains=(tool["domain"],))
        filtered.append(tool["name"] in engine.search(tool["name"], filters=filters).names)
    assert len(tools) == 23
    assert sum(shown) >= 22
    assert sum(filtered) >= 22
