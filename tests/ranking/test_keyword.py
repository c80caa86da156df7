"""Which ranker fits into the time that is left, and what the last one does."""

import pytest
from msgspec.structs import replace

from tests.support import ENGINE, TOOLS, compiled, crowd
from toolscout.contract.fields import RankerName
from toolscout.contract.requests import Filters, Session, Use
from toolscout.contract.tools import Tool
from toolscout.index.cold import ColdCatalog, score_keywords
from toolscout.index.tool_list import ToolList
from toolscout.ranking.ask import Ask
from toolscout.ranking.ladder import RUNGS, Costs, find_affordable, find_bucket
from toolscout.ranking.pipeline import decide
from toolscout.text.query import analyse


def scores(pattern: str, *tools: tuple[str, str]) -> list[float]:
    names, descriptions = [t[0] for t in tools], [t[1] for t in tools]
    found: list[float] = score_keywords(analyse(pattern), names, descriptions).bm25.tolist()
    return found


def cold(pattern: str, tools: list[dict] | None = None, **fields) -> list[str]:
    given = [Tool(tool["name"], tool.get("description")) for tool in tools or TOOLS]
    return decide(ColdCatalog(ToolList.of(given, 20_000)), Ask(pattern=pattern, **fields)).names


def test_words_are_found_whole():
    assert scores("add", ("address_book", "address padding")) == [0]
    assert scores("pr", ("improve", "improve a print")) == [0]


@pytest.mark.parametrize("pattern", ["file", "files", "FILE", "File!"])
@pytest.mark.parametrize("name", ["read_file", "readFile", "read-file", "files.read"])
def test_words_are_found_in_names_however_written(pattern: str, name: str):
    assert scores(pattern, (name, ""), ("other", ""))[0] > 0


def test_a_word_in_the_name_counts_more():
    name, described = scores("parcel", ("parcel", "x"), ("x", "parcel"))
    assert name > described > 0


def test_line_breaks_do_not_shift_texts():
    found = scores("parcel", ("a\nb", "one\ntwo"), ("c", "three\n\nparcel"), ("d", "four"))
    assert [value > 0 for value in found] == [False, True, False]


def test_scripts_without_spaces_are_found():
    found = scores("天気", ("a", "東京の天気予報"), ("b", "ファイル検索"))
    assert found[0] > 0 == found[1]


@pytest.mark.parametrize("pattern", ["!!!", "zxqv", "(", "\\", "a" * 5_000])
def test_odd_patterns_score_nothing(pattern: str):
    assert scores(pattern, ("read_file", "Read")) == [0]


def test_no_tools_no_scores():
    assert scores("file") == []


def test_cold_answers_keep_the_rules():
    names = cold("read a file", always_keep=["send_email", "nowhere"], top_k=3)
    assert names[0] == "read_file"
    assert names[-1] == "send_email"
    assert len(names) <= 3


def test_cold_answers_keep_filters_limits_and_sessions():
    assert cold("file", filters=Filters(exclude=("read_file",))) == []
    assert cold("read a file, or the weather", min_score=1.0, always_keep=["send_email"]) == [
        "send_email"
    ]
    assert cold("read a file", budget_tokens=1, always_keep=["send_email"]) == ["send_email"]
    alike = [{"name": f"spin_{letter}", "description": "Spin it"} for letter in "abc"]
    served = Session(recent=(Use("spin_c", successes=3),))
    assert cold("spin", alike) == ["spin_a", "spin_b", "spin_c"]
    assert cold("spin", alike, session=served)[0] == "spin_c"


def test_cold_answers_know_exact_names():
    assert cold("please createIssue", TOOLS + crowd(50), top_k=1) == ["create_issue"]
    assert cold("`gadget_7_spin`", TOOLS + crowd(50), top_k=1) == ["gadget_7_spin"]


def test_cold_gibberish_is_no_match():
    assert cold("zxqv wvut", always_keep=["send_email"]) == []


def test_order_of_cold_tools_does_not_matter():
    tools = crowd(40)
    assert cold("spin the gadget", tools) == cold("spin the gadget", tools[::-1])


# Which ranker still fits into the time that is left.


PLENTY = 60_000.0


@pytest.mark.parametrize("ranker", list(RUNGS))
def test_with_time_enough_nothing_steps_down(ranker: str):
    assert find_affordable(ranker, PLENTY, Costs(), 300) is None


@pytest.mark.parametrize("ranker", list(RUNGS))
def test_without_any_time_words_must_do(ranker: str):
    assert find_affordable(ranker, -1.0, Costs(), 300) == "keyword"


def test_a_deadline_that_has_passed_says_nothing_of_costs():
    costs = Costs()
    costs.learn(f"hybrid:{find_bucket(300)}", 1.0)
    before = costs.expected(f"hybrid:{find_bucket(300)}")
    for _ in range(1_000):
        find_affordable("hybrid", -1.0, costs, 300)
    assert costs.expected(f"hybrid:{find_bucket(300)}") == before


def test_every_ranker_has_its_way_down():
    assert set(RUNGS) == {"auto", "hybrid", "rrf", "okapi", "semantic", "bm25", "regex"}
    assert all(rungs[0] == ranker and rungs[-1] == "keyword" for ranker, rungs in RUNGS.items())


def test_the_middle_rung_is_taken_when_it_fits():
    costs = Costs()
    for _ in range(100):
        costs.learn(f"hybrid:{find_bucket(300)}", 50.0)
        costs.learn(f"bm25:{find_bucket(300)}", 1.0)
    assert find_affordable("hybrid", 10.0, costs, 300) == "bm25"
    assert find_affordable("hybrid", 0.5, costs, 300) == "keyword"
    assert find_affordable("hybrid", 500.0, costs, 300) is None


def test_costs_are_learned_and_forgotten():
    costs = Costs()
    for _ in range(200):
        costs.learn("x", 8.0)
    assert costs.expected("x") == pytest.approx(8.0)
    assert costs.expected("x", 10) == pytest.approx(80.0)
    for _ in range(200):
        costs.learn("x", 2.0)
    assert costs.expected("x") == pytest.approx(2.0)


def test_estimates_are_on_the_safe_side():
    costs = Costs()
    costs.learn("x", 4.0)
    assert costs.estimate("x") > costs.expected("x")


def test_one_slow_answer_does_not_condemn_a_ranker():
    costs = Costs()
    for _ in range(50):
        costs.learn("x", 1.0)
    costs.learn("x", 50.0)
    assert costs.expected("x") < 10


def test_a_ranker_that_was_too_dear_is_tried_again():
    costs = Costs()
    for _ in range(50):
        costs.learn(f"hybrid:{find_bucket(300)}", 100.0)
    rungs = [find_affordable("hybrid", 20.0, costs, 300) for _ in range(200)]
    assert rungs[0] == "bm25"
    assert rungs[-1] is None


@pytest.mark.parametrize("ranker", ["semantic", "hybrid", "rrf"])
@pytest.mark.parametrize("pattern", ["reed a fiel", "shoot a mail", "read a file"])
def test_without_vectors_a_list_answers_as_by_bm25(ranker: RankerName, pattern: str):
    bare = replace(compiled(TOOLS), vectors=None)
    degraded = decide(bare, Ask(pattern=pattern, ranker=ranker), ENGINE.embedder)
    by_words = decide(bare, Ask(pattern=pattern, ranker="bm25"), ENGINE.embedder)
    assert degraded.names == by_words.names
    assert degraded.degraded == "bm25"
