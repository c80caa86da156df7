"""Fields of a wrong type or size are refused, and the error names their place."""

from typing import Any

import pytest

from tests.contract.test_calls import BATCH, FILTER, RESOLVE
from tests.support import SEARCH, TOOLS, Server, problem_of

HOT = "/v1/tool-discovery/hot"
SAID = [{"role": "user", "content": "weather"}]
WHOLE = {
    SEARCH: {"pattern": "x"},
    FILTER: {"query": "a"},
    RESOLVE: {"names": []},
    BATCH: {"patterns": ["a"]},
    HOT: {"message": "m"},
}
"""A request of each call without its tools."""

REFUSED: list[tuple[str, str, dict[str, Any]]] = [
    (SEARCH, "filters", {"filters": []}),
    (SEARCH, "filters.namespaces", {"filters": {"namespaces": "github"}}),
    (SEARCH, "filters.tags[0]", {"filters": {"tags": [1]}}),
    (SEARCH, "filters.max_risk", {"filters": {"max_risk": "high"}}),
    (SEARCH, "filters.domains", {"filters": {"domains": ["d"] * 1_001}}),
    *((SEARCH, "min_score", {"min_score": wrong}) for wrong in (-0.1, 1.1, "high")),
    *((SEARCH, "budget_tokens", {"budget_tokens": wrong}) for wrong in (-1, 1.5, "many")),
    *((SEARCH, "no_match_below", {"no_match_below": wrong}) for wrong in (-0.1, 1.1, "0.5")),
    *((SEARCH, "detail", {"detail": wrong}) for wrong in ("short", 1, ["brief"])),
    (SEARCH, "session", {"session": []}),
    (SEARCH, "session.recent[0]", {"session": {"recent": [{"successes": 1}]}}),
    (
        SEARCH,
        "session.recent[0].failures",
        {"session": {"recent": [{"name": "a", "failures": -1}]}},
    ),
    (
        SEARCH,
        "session.recent[0].turns_ago",
        {"session": {"recent": [{"name": "a", "turns_ago": ""}]}},
    ),
    (SEARCH, "session.recent", {"session": {"recent": [{"name": "a"}] * 1_001}}),
    (SEARCH, "session.expanded", {"session": {"expanded": "a"}}),
    (SEARCH, "context", {"context": "code"}),
    (SEARCH, "context.files[0]", {"context": {"files": [1]}}),
    (SEARCH, "context.files", {"context": {"files": ["a"] * 1_001}}),
    (SEARCH, "context.signals[0]", {"context": {"signals": ["a" * 201]}}),
    (SEARCH, "context.signals", {"context": {"signals": ["a"] * 101}}),
    *((FILTER, "query", {"query": wrong}) for wrong in (None, 1)),
    *((FILTER, "min_tools", {"min_tools": wrong}) for wrong in (-1, 1.5)),
    (FILTER, "max_tools", {"max_tools": 0}),
    (FILTER, "target_ratio", {"target_ratio": 1.1}),
    (FILTER, "recent", {"recent": "read"}),
    (FILTER, "expanded[0]", {"expanded": [1]}),
    *((RESOLVE, "names", {"names": wrong}) for wrong in (None, "read", ["a"] * 201)),
    *((RESOLVE, "names[0]", {"names": wrong}) for wrong in ([""], ["a" * 1_025])),
    (RESOLVE, "names[1]", {"names": ["a", 7]}),
    *((HOT, "token_budget", {"token_budget": wrong}) for wrong in (-1, 1.5)),
    (HOT, "tier0", {"tier0": "a"}),
    *((BATCH, "patterns", {"patterns": wrong}) for wrong in (None, [], "a", ["a"] * 33)),
    (BATCH, "patterns[1]", {"patterns": ["a", 1]}),
    (BATCH, "patterns[0].pattern", {"patterns": [{}]}),
    (BATCH, "patterns[1].pattern", {"patterns": ["a", {"turn": "1"}]}),
    (BATCH, "patterns[0].messages[0].role", {"patterns": [{"messages": [{"content": "a"}]}]}),
    (BATCH, "patterns[0].messages", {"patterns": [{"pattern": "a", "messages": SAID}]}),
    (BATCH, "patterns[0].pattern", {"patterns": [{"patern": "a"}]}),
    (BATCH, "top_k", {"top_k": 0}),
    (BATCH, "max_tools", {"top_k": 1, "max_tools": 1}),
]
BLANK: list[tuple[str, str, dict[str, Any]]] = [
    (BATCH, "patterns[1]", {"patterns": ["a", " "]}),
    (BATCH, "patterns[0].pattern", {"patterns": [{"pattern": " "}]}),
    (BATCH, "patterns[0].messages", {"patterns": [{"messages": []}]}),
]


@pytest.mark.parametrize(
    ("code", "path", "place", "fields"),
    [("invalid_request", *case) for case in REFUSED] + [("empty_pattern", *case) for case in BLANK],
)
def test_a_wrong_field_or_a_blank_pattern_is_refused_with_its_place(
    server: Server, code: str, path: str, place: str, fields: dict[str, Any]
):
    answer = server.post(WHOLE[path] | {"tools": TOOLS} | fields, path)
    assert problem_of(answer, 422, code)["errors"][0]["path"] == place
