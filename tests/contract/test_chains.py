"""Chains over the wire: reported, suggested, and followed by searches."""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ACME_OLD, ZENITH
from tests.contract.learning import FEEDBACK, HOT, WORKED, names, tell
from tests.in_process import serving
from tests.support import SEARCH, TOOLS, Server, problem_of
from toolscout.contract.bounds import MAX_TURN_CHARS

CHAINS, INSIGHTS = "/v1/tool-discovery/chains", "/v1/tool-discovery/insights"
REPORT: dict[str, Any] = {
    "intent": "ship the parcel to a customer",
    "chain": ["search_code", "create_issue", "translate_text"],
    "success": True,
}


def report(server: Server, body: Any, times: int = 3) -> None:
    for _ in range(times):
        answer = server.post(body, CHAINS, {"x-api-key": ACME_OLD})
        assert (answer.status_code, answer.json()) == (202, {"accepted": 1})


def insight(server: Server, pattern: str, key: str = ACME_OLD) -> Any:
    return server.client.get(
        INSIGHTS, params={"pattern": pattern}, headers={"x-api-key": key}
    ).json()


def test_a_chain_is_suggested_for_a_like_intent(empty: Server):
    nothing = {"chain": [], "confidence": 0.0, "evidence": 0}
    assert insight(empty, REPORT["intent"]) == nothing
    report(empty, REPORT)
    found = insight(empty, "ship a parcel to the customers")
    assert found["chain"] == REPORT["chain"]
    assert found["evidence"] == 3
    assert 0.3 < found["confidence"] <= 1
    steps = ", then ".join(f"`{name}`" for name in REPORT["chain"])
    assert found["recommendation"] == f"For requests like this, {steps} worked 3 of 3 times."
    assert insight(empty, "weather tomorrow")["confidence"] < 0.3
    assert insight(empty, REPORT["intent"], ZENITH) == nothing


def test_confidence_grows_with_every_report_that_worked(empty: Server):
    seen = []
    for _ in range(12):
        report(empty, REPORT, times=1)
        seen.append(insight(empty, REPORT["intent"])["confidence"])
    assert seen == sorted(seen)
    assert seen[0] < 0.6
    assert 0.85 < seen[-1] < 1


def test_a_chain_that_failed_is_not_suggested(empty: Server):
    report(empty, REPORT | {"success": False})
    assert insight(empty, REPORT["intent"])["chain"] == []


def test_the_next_tools_of_a_chain_take_free_slots(empty: Server):
    report(empty, REPORT)
    plain = names(empty, top_k=5)
    chained = names(empty, top_k=5, complete_chain=True)
    assert set(REPORT["chain"]) <= set(chained)
    assert set(REPORT["chain"]) - set(plain)
    assert len(chained) <= 5
    headers = {"x-api-key": ACME_OLD}
    body = empty.search(
        "ship the parcel", top_k=5, complete_chain=True, explain=True, headers=headers
    ).json()
    via = {match["name"]: {r["via"] for r in match["reasons"]} for match in body["matches"]}
    assert all("chain" in via[name] for name in set(REPORT["chain"]) - set(plain))


def test_a_chain_obeys_filters_pins_and_the_cap(empty: Server):
    report(empty, REPORT)
    fields: dict[str, Any] = {"complete_chain": True, "top_k": 2, "always_keep": ["get_weather"]}
    chosen = names(empty, filters={"exclude": ["search_code"]}, **fields)
    assert len(chosen) == 2
    assert "search_code" not in chosen
    assert chosen[-1] == "get_weather"


def test_a_chain_is_followed_for_its_own_intent_where_no_tool_matches(empty: Server):
    report(empty, REPORT | {"intent": "zorb the quux"}, times=2)
    headers = {"x-api-key": ACME_OLD}
    assert empty.names("zorb the quux", headers=headers) == []
    answer = empty.search(
        "zorb the quux", complete_chain=True, always_keep=["get_weather"], headers=headers
    )
    assert answer.json()["selected_names"] == [*REPORT["chain"], "get_weather"]
    assert "outcome=weak" in answer.headers["x-tool-selection"]
    assert empty.names("qqfp kkvd", complete_chain=True, headers=headers) == []


def test_one_odd_report_does_not_halve_the_confidence_of_six(empty: Server):
    report(empty, REPORT, times=6)
    before = insight(empty, REPORT["intent"])
    report(empty, REPORT | {"chain": ["get_weather", "send_email"]}, times=1)
    after = insight(empty, REPORT["intent"])
    assert after["chain"] == before["chain"]
    assert after["confidence"] > 0.8 * before["confidence"]


def test_the_hot_tools_follow_a_chain(empty: Server):
    report(empty, REPORT)
    body = {"message": REPORT["intent"], "tools": TOOLS}
    tiers = empty.post(body, HOT, {"x-api-key": ACME_OLD}).json()["tiers"]
    assert set(REPORT["chain"]) <= {tool["name"] for tool in tiers["tier1"]}


def test_a_named_tool_stays_before_the_chain(empty: Server):
    report(empty, REPORT | {"intent": "call resize_image"})
    headers = {"x-api-key": ACME_OLD}
    chosen = empty.names("call resize_image", complete_chain=True, headers=headers)
    assert chosen[0] == "resize_image"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (REPORT | {"chain": ["alone"]}, "invalid_request"),
        (REPORT | {"chain": ["a"] * 21}, "invalid_request"),
        (REPORT | {"intent": " "}, "empty_pattern"),
        ({"chain": ["a", "b"], "success": True}, "invalid_request"),
    ],
)
def test_a_wrong_chain_is_refused(learning: Server, body: Any, code: str):
    problem_of(learning.post(body, CHAINS, {"x-api-key": ACME_OLD}), 422, code)


def test_an_insight_needs_a_pattern(learning: Server):
    answer = learning.get(INSIGHTS, **{"x-api-key": ACME_OLD})
    problem_of(answer, 422, "empty_pattern")


def test_a_store_that_is_gone_took_no_report(tmp_path: Path):
    with serving(tmp_path, store="redis://127.0.0.1:1/0") as server:
        for body, path in ((WORKED, FEEDBACK), (REPORT, CHAINS)):
            problem = problem_of(server.post(body, path), 503, "store_unavailable")
            assert problem["detail"] == "the state store could not be reached"


# Turns over the wire: named by a search, and by feedback instead of its pattern.


TOLD = {"tool": "resize_image", "success": True}


def accepted(server: Server, body: Any, key: str = ACME_OLD) -> int:
    answer = tell(server, body, key)
    assert answer.status_code == 202, answer.text
    return answer.json()["accepted"]


def test_every_pattern_of_a_batch_may_have_a_turn(empty: Server):
    body = {"patterns": ["a", {"pattern": "ship the parcel", "turn": "b-1"}], "tools": TOOLS}
    answer = empty.post(body, SEARCH + ":batch", {"x-api-key": ACME_OLD})
    assert answer.status_code == 200
    assert accepted(empty, TOLD | {"turn": "b-1"}) == 1


def test_turns_of_tenants_are_apart(empty: Server):
    names(empty, turn="of-acme")
    assert accepted(empty, TOLD | {"turn": "of-acme"}, ZENITH) == 0


def test_a_turn_is_bounded(empty: Server):
    longest = "ü" * MAX_TURN_CHARS
    names(empty, turn=longest)
    assert accepted(empty, TOLD | {"turn": longest}) == 1
    key = {"x-api-key": ACME_OLD}
    for path, body in (
        (SEARCH, {"pattern": "ship", "tools": TOOLS, "turn": longest + "ü"}),
        (CHAINS, REPORT | {"turn": longest + "ü"}),
    ):
        problem_of(empty.post(body, path, key), 422, "invalid_request")
    problem_of(tell(empty, WORKED | {"turn": longest + "ü"}), 422, "invalid_request")


@pytest.mark.parametrize("turn", ["", None])
def test_an_empty_turn_is_none(empty: Server, turn: str | None):
    assert names(empty, turn=turn)
    problem = problem_of(tell(empty, TOLD | {"turn": turn}), 422, "invalid_request")
    assert problem["errors"][0]["path"] == "pattern"
    assert [accepted(empty, WORKED | {"turn": turn}) for _ in range(2)] == [1, 1]


def test_a_turn_changes_no_answer(empty: Server):
    key = {"x-api-key": ACME_OLD}
    body = {"pattern": "ship the parcel", "tools": TOOLS}
    plain = empty.post(body, SEARCH, key).content
    assert empty.post(body | {"turn": "any"}, SEARCH, key).content == plain


def test_a_chain_that_is_sent_again_counts_once(empty: Server):
    def sent(body: Any) -> int:
        return empty.post(body, CHAINS, {"x-api-key": ACME_OLD}).json()["accepted"]

    assert [sent(REPORT | {"turn": "again"}) for _ in range(2)] == [1, 0]
    assert sent(REPORT | {"turn": "again", "success": False}) == 1
