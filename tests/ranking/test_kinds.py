"""Documents of several kinds: each may have its own number of places."""

from typing import Any

import pytest

from tests.support import Process, crowd, problem_of, select
from toolscout import Engine
from toolscout.contract.requests import Filters
from toolscout.errors import InvalidRequest
from toolscout.index.cold import ColdCatalog
from toolscout.index.tool_list import ToolList
from toolscout.ranking.ask import Ask
from toolscout.ranking.pipeline import decide
from toolscout.tools.conversion import read_tools

QUERY = "fill in the pdf form"
TOOLS: list[dict[str, Any]] = [
    *({"name": f"pdf_form_{n}", "description": "Fill in a pdf form"} for n in range(12)),
    {"name": "delete-pdf", "kind": "skill", "description": "Delete and fill in a pdf form"},
    {"name": "forms", "kind": "skill", "description": "How to lay out the form of a pdf"},
    {"name": "mail-style", "kind": "skill", "description": "How to write letters"},
    {"name": "pdf_guide", "kind": "resource", "description": "Guide to pdf forms"},
    {"name": "fill_form", "kind": "prompt", "description": "Fill in a form"},
    *crowd(20),
]
KIND = {tool["name"]: tool.get("kind", "tool") for tool in TOOLS}
SKILLS = {"delete-pdf", "forms"}


def kinds(names: list[str]) -> list[str]:
    return sorted(KIND[name] for name in names)


def by_kind(**counts: int) -> dict[str, Any]:
    return {"top_k_by_kind": counts, "top_k": sum(counts.values())}


def test_without_numbers_all_kinds_compete():
    assert kinds(select(TOOLS, QUERY, top_k=5).names) == ["tool"] * 5
    plain = [{key: value for key, value in tool.items() if key != "kind"} for tool in TOOLS]
    assert select(TOOLS, QUERY, top_k=9).names == select(plain, QUERY, top_k=9).names


def test_each_kind_gets_its_best_however_deep_they_are():
    found = select(TOOLS, QUERY, **by_kind(tool=3, skill=2, prompt=1))
    assert kinds(found.names) == ["prompt", "skill", "skill", "tool", "tool", "tool"]
    assert set(found.names) >= SKILLS
    alone = select(TOOLS, QUERY, top_k=40).names
    assert found.names == [name for name in alone if name in found.names]


def test_a_kind_without_a_number_is_not_selected_and_makes_no_match():
    assert set(select(TOOLS, QUERY, **by_kind(skill=2)).names) == SKILLS
    found = select(TOOLS, "how to write letters", **by_kind(prompt=2))
    assert "mail-style" not in found.names
    assert found.outcome != "match"


def test_the_numbers_are_within_top_k_and_filters():
    found = select(TOOLS, QUERY, top_k=3, top_k_by_kind={"tool": 3, "skill": 2})
    assert len(found.names) == 3
    filters = Filters(exclude=("forms",), kinds=("skill", "prompt"))
    assert kinds(select(TOOLS, QUERY, filters=filters, **by_kind(tool=3, skill=1)).names) == [
        "skill"
    ]
    assert set(select(TOOLS, QUERY, filters=filters, top_k=9).names) >= {"delete-pdf", "fill_form"}
    assert "forms" not in select(TOOLS, QUERY, filters=filters, top_k=9).names


def test_pins_take_the_places_of_their_kind():
    asked: dict[str, Any] = {"always_keep": ["mail-style", "pdf_guide"], **by_kind(tool=2, skill=2)}
    names = select(TOOLS, QUERY, **asked).names
    assert names[-1] == "mail-style"
    assert kinds(names) == ["skill", "skill", "tool", "tool"]
    alone = select(TOOLS, QUERY, **(asked | by_kind(tool=2, skill=1))).names
    assert "mail-style" not in alone  # the best match keeps its place


def test_a_budget_is_spent_on_what_has_a_place():
    asked: dict[str, Any] = {"budget_tokens": 10_000, "detail": "brief"}
    found = select(TOOLS, QUERY, **asked, **by_kind(tool=2, skill=2))
    assert kinds(found.names) == ["skill", "skill", "tool", "tool"]


@pytest.mark.parametrize("ranker", ["bm25", "semantic", "hybrid", "rrf", "okapi", "regex"])
def test_every_ranker_keeps_to_the_numbers(ranker: Any):
    names = select(TOOLS, "pdf", ranker=ranker, **by_kind(tool=2, skill=1, resource=1)).names
    assert kinds(names) == ["resource", "skill", "tool", "tool"]


def test_a_list_that_is_not_compiled_keeps_to_them():
    cold = ColdCatalog(ToolList.of(read_tools(TOOLS)))
    names = decide(cold, Ask(pattern=QUERY, **by_kind(tool=2, skill=2))).names
    assert kinds(names) == ["skill", "skill", "tool", "tool"]


def test_what_is_only_read_is_harmless_unless_it_says_otherwise():
    filters = Filters(max_risk="read_only", kinds=("skill",))
    assert set(select(TOOLS, QUERY, filters=filters, top_k=9).names) >= SKILLS
    risky = [{**tool, "risk": "destructive"} for tool in TOOLS]
    assert select(risky, QUERY, filters=filters, top_k=9).names == []


def test_the_engine_takes_the_numbers():
    engine = Engine(TOOLS)
    found = engine.search(QUERY, detail="brief", top_k_by_kind={"tool": 7, "skill": 2})
    assert kinds(found.names) == [*["skill"] * 2, *["tool"] * 7]
    assert {tool.kind for tool in found.tools} == {None, "skill"}
    assert len(engine.search(QUERY).names) == 5
    for wrong in ({"tool": 0}, {"page": 1}):
        with pytest.raises(InvalidRequest):
            engine.search(QUERY, top_k_by_kind=wrong)  # type: ignore[arg-type]


def test_a_request_says_how_many_of_each_kind(server: Process):
    body: dict[str, Any] = {"pattern": QUERY, "tools": TOOLS, "detail": "brief"}
    counts = {"tool": 6.0, "skill": 1}
    answer = server.post(body | {"top_k_by_kind": counts}).json()
    assert kinds(answer["selected_names"]) == ["skill", *["tool"] * 6]
    shown = {tool["name"]: tool.get("kind", "tool") for tool in answer["tools"]}
    assert shown == {name: KIND[name] for name in answer["selected_names"]}
    capped = server.post(body | {"top_k_by_kind": counts, "top_k": 2}).json()
    assert len(capped["selected_names"]) == 2
    assert server.post(body | {"top_k_by_kind": {}}).json() == server.post(body).json()


@pytest.mark.parametrize(
    ("counts", "path"),
    [
        ({"tool": 0}, "top_k_by_kind"),
        ({"tool": 1.5}, "top_k_by_kind.tool"),
        ({"page": 1}, "top_k_by_kind"),
        ([1], "top_k_by_kind"),
    ],
)
def test_wrong_numbers_are_refused_with_their_place(server: Process, counts: Any, path: str):
    response = server.post({"pattern": QUERY, "tools": TOOLS, "top_k_by_kind": counts})
    problem = problem_of(response, 422, "invalid_request")
    assert problem["errors"][0]["path"].startswith(path)


def test_a_provider_s_own_key_of_this_name_is_no_kind():
    foreign = {"name": "x", "kind": "function", "inputSchema": {"type": "object"}}
    (tool,) = read_tools([foreign])
    assert tool.kind is None
    (tool,) = read_tools([{**foreign, "kind": "skill"}])
    assert tool.kind == "skill"
