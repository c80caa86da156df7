"""What experience adds to scores."""

import numpy as np
import pytest

from tests.support import TOOLS, crowd
from toolscout import Engine
from toolscout.experience.prior import HALF_LIFE_S, LearnedIndex, prior_of
from toolscout.experience.reported import Experience, Observation
from toolscout.index.embedder import QueryVectors
from toolscout.index.pattern_vectors import Pattern, pack, pack_text, read_pattern, unpack
from toolscout.ranking.ask import Ask, Prior
from toolscout.ranking.pipeline import rank
from toolscout.text.query import Query, analyse

ENGINE = Engine(TOOLS)
NAMES = ENGINE.catalog.names
KEYS = [(name, "content") for name in NAMES]


def asked(pattern: str) -> Pattern:
    query = analyse(pattern)
    return read_pattern(query, ENGINE.embedder.query(query.embedding_words))


def point(pattern: str) -> np.ndarray:
    return unpack(pack(asked(pattern)))


def learn(
    experience: Experience,
    pattern: str,
    tool: str,
    success: bool = True,
    times: int = 1,
    digest: str = "content",
    time: float = 0.0,
) -> None:
    for _ in range(times):
        seen = Observation(pattern, tool, success, digest=digest, time=time)
        experience.learn(seen, point(pattern))


def prior(experience: Experience, pattern: str, now: float = 0.0) -> dict:
    """Return how near the past queries of each tool are; negative where it failed."""
    found = LearnedIndex(KEYS, experience, now).prior(asked(pattern))
    if found is None:
        return dict.fromkeys(NAMES, 0.0)
    failed = {row: -blame for row, blame in found.failed.items()}
    near = failed | {row: past.cosine * past.weight for row, past in found.past.items()}
    return {name: near.get(row, 0.0) for row, name in enumerate(NAMES)}


def test_without_experience_there_is_no_prior():
    assert LearnedIndex(KEYS, Experience(), 0.0).prior(asked("ship it")) is None


def test_a_tool_that_worked_rises_for_the_pattern_and_for_like_ones():
    experience = Experience()
    learn(experience, "ship the parcel to the customer", "send_email", times=3)
    for pattern in ("ship the parcel to the customer", "ship a parcel to our customers"):
        added = prior(experience, pattern)
        assert added["send_email"] > 0.2
        assert {tool for tool, more in added.items() if more} == {"send_email"}


def test_a_tool_that_failed_sinks():
    experience = Experience()
    learn(experience, "ship the parcel", "send_email", success=False, times=3)
    assert prior(experience, "ship the parcel")["send_email"] < 0


def test_success_and_failure_alike_say_nothing():
    experience = Experience()
    learn(experience, "ship the parcel", "send_email", times=2)
    learn(experience, "ship the parcel", "send_email", success=False, times=2)
    assert prior(experience, "ship the parcel")["send_email"] == pytest.approx(0, abs=1e-6)


def test_one_use_says_less_than_many():
    once, often = Experience(), Experience()
    learn(once, "ship the parcel", "send_email")
    learn(often, "ship the parcel", "send_email", times=10)
    one, many = (prior(seen, "ship the parcel")["send_email"] for seen in (once, often))
    assert 0 < one < many


def test_old_experience_fades():
    experience = Experience()
    learn(experience, "ship the parcel", "send_email", times=2)
    fresh, old = (prior(experience, "ship the parcel", now) for now in (0.0, 3 * HALF_LIFE_S))
    assert 0 < old["send_email"] < fresh["send_email"]


def test_a_pattern_of_other_matters_is_not_moved():
    experience = Experience()
    learn(experience, "ship the parcel to the customer", "send_email", times=9)
    added = prior(experience, "weather tomorrow")
    assert added.get("send_email", 0.0) < 0.1


def test_the_prior_is_bounded():
    experience = Experience()
    learn(experience, "ship the parcel", "send_email", times=10_000)
    assert prior(experience, "ship the parcel")["send_email"] <= 1


def test_other_content_of_a_tool_says_nothing_and_no_content_counts_for_the_name():
    changed, unknown = Experience(), Experience()
    learn(changed, "ship the parcel", "send_email", digest="older", times=3)
    learn(unknown, "ship the parcel", "send_email", digest="", times=3)
    assert not any(prior(changed, "ship the parcel").values())
    assert prior(unknown, "ship the parcel")["send_email"] > 0


def test_unknown_script_is_learned_by_its_words():
    experience = Experience()
    learn(experience, "고객에게 소포를 보내 주세요", "send_email", times=3)
    assert prior(experience, "고객에게 소포를 보내")["send_email"] > 0.1


def test_experience_knows_a_translated_question_as_it_was_said():
    text = "lösche die letzte Datei"
    ranking = rank(ENGINE.catalog, Ask(pattern=text, ranker="hybrid"), ENGINE.embedder)
    assert ranking.query.spoken is not None
    assert pack(read_pattern(ranking.query, ranking.vectors)) == pack_text(text, ENGINE.embedder)


def test_what_worked_for_an_unlike_query_makes_a_match_of_nothing():
    experience = Experience()
    uses = ("ship the parcel", "paint the fence", "water the roses", "tune the piano")
    for pattern, name in zip(uses, NAMES, strict=False):
        learn(experience, pattern, name, times=10)
    index = LearnedIndex(KEYS, experience, 0.0)

    def told(query: Query, vectors: QueryVectors | None) -> tuple[np.ndarray, float] | None:
        return index.prior(read_pattern(query, vectors))

    for hopeless in ("qwxz vbnmp", "the boiling point of tungsten"):
        ask = Ask(pattern=hopeless)
        before, after = (
            ENGINE.decide(ENGINE.catalog, ask),
            ENGINE.decide(ENGINE.catalog, ask, prior=Prior(told)),
        )
        assert (before.outcome, after.outcome) == ("no_match", "no_match")
    assert (
        ENGINE.decide(ENGINE.catalog, Ask(pattern="ship a parcel"), prior=Prior(told)).outcome
        == "match"
    )


def test_of_thousands_of_past_patterns_the_nearest_count():
    experience = Experience()
    keys = [(f"tool{number}", "") for number in range(400)]
    pattern = "sort the {} of colour {} into box {}"
    for number, (name, _) in enumerate(keys):
        for thing in ("stamps", "coins", "shells"):
            seen = Observation("", name, True, time=0.0)
            experience.learn(seen, point(pattern.format(thing, number % 20, number)))
    index = LearnedIndex(keys, experience, 0.0)
    for number in range(0, 400, 7):
        found = index.prior(asked(pattern.format("coins", number % 20, number)))
        assert found is not None
        assert max(found.past, key=found.past.__getitem__) == number
        assert found.likeness > 0.95


def test_a_learned_tool_is_found_though_words_and_meaning_rank_a_hundred_before_it():
    engine = Engine([*TOOLS, *crowd(200)])
    names = engine.catalog.names
    experience = Experience()
    for _ in range(3):
        vector = point("spin a gadget")
        experience.learn(Observation("", "resize_image", True, time=0.0), vector)
    index = LearnedIndex([(name, "") for name in names], experience, 0.0)
    ask = Ask(pattern="spin the gadgets", top_k=10)
    assert (
        "resize_image"
        not in engine.decide(engine.catalog, Ask(pattern=ask.pattern, top_k=100)).names
    )
    found = engine.decide(engine.catalog, ask, prior=prior_of(index))
    assert "resize_image" in found.names


def names_after(pattern: str, tool: str, times: int, asked: str = "") -> list[str]:
    """Return what is selected after a tool was reported for a pattern, for it or for another."""
    experience = Experience()
    learn(experience, pattern, tool, times=times)
    index = LearnedIndex(KEYS, experience, 0.0)
    return ENGINE.decide(
        ENGINE.catalog,
        Ask(pattern=asked or pattern),
        prior=prior_of(index),
    ).names


def test_reports_of_one_key_put_no_tool_before_a_clear_match():
    assert names_after("read a file", "send_email", 3)[:2] == ["read_file", "send_email"]


def test_what_several_keys_report_of_the_very_query_may_come_first():
    assert names_after("read a file", "send_email", 7)[0] == "send_email"


def test_a_past_query_takes_nothing_from_a_tool_that_says_as_much_of_itself():
    asked = "send an email with the weather"
    before = ENGINE.decide(ENGINE.catalog, Ask(pattern=asked)).names[0]
    assert names_after("tell me the weather in a mail", "get_weather", 3, asked=asked)[0] == before


def test_false_reports_of_unlike_queries_bring_a_tool_to_few():
    experience = Experience()
    uses = [f"{verb} {thing}" for verb in ("read", "send", "make") for thing in ("it", "mail")]
    learn(experience, "translate a letter into french", "resize_image")
    asked = "translate this poem into german"
    before = prior(experience, asked)["resize_image"]
    for pattern in uses:
        learn(experience, pattern, "resize_image")
    after = prior(experience, asked)["resize_image"]
    assert 0 < after < 0.8 * before


@pytest.mark.parametrize("fails", [False, True])
def test_a_tool_is_replaced_by_what_has_worked_since_for_the_very_query(fails: bool):
    experience, query = Experience(), "ship the parcel"
    learn(experience, query, "send_email", times=20)
    learn(experience, query, "create_issue", times=2, time=1.0)
    if fails:
        learn(experience, query, "send_email", success=False, time=1.5)
    assert prior(experience, query)["send_email"] > prior(experience, query)["create_issue"]
    learn(experience, query, "create_issue", time=2.0)
    assert prior(experience, query)["send_email"] == 0 < prior(experience, query)["create_issue"]
    learn(experience, query, "send_email", time=3.0)
    assert prior(experience, query)["send_email"] > 0


def test_it_stays_replaced_however_long_ago_that_was():
    experience, query = Experience(), "ship the parcel"
    learn(experience, query, "send_email", times=20)
    learn(experience, query, "create_issue", times=3, time=1.0)
    for now in (1.5, HALF_LIFE_S):
        assert prior(experience, query, now)["send_email"] == 0


def test_failures_lower_no_tool_where_everything_fails():
    experience = Experience()
    for other in NAMES:
        learn(experience, f"use {other}", other, success=False, times=80)
    learn(experience, "ship the parcel", "send_email", success=False, times=3)
    assert prior(experience, "ship the parcel")["send_email"] == 0


def test_a_made_up_word_is_found_once_it_has_worked():
    assert ENGINE.decide(ENGINE.catalog, Ask(pattern="vofuzu")).names == []
    assert names_after("vofuzu", "resize_image", 3)[0] == "resize_image"


def test_before_a_weak_answer_a_tool_that_worked_may_come_first():
    assert names_after("ship the parcel", "resize_image", 3)[0] == "resize_image"


def test_before_a_weak_answer_a_request_that_is_only_similar_brings_no_foreign_tool_first():
    asked = "ship the parcel over night to berlin"
    without = ENGINE.decide(ENGINE.catalog, Ask(pattern=asked))
    names = names_after("ship a parcel", "resize_image", 3, asked=asked)
    assert without.outcome != "match"
    assert names[:1] == without.names[:1]
    assert names.index("resize_image") == 1


def test_all_tools_of_one_pattern_rise():
    experience = Experience()
    for name in NAMES[:4]:
        learn(experience, "ship the parcel", name, times=3)
    added = prior(experience, "ship the parcel")
    assert {name for name, more in added.items() if more > 0} == set(NAMES[:4])


def test_similar_queries_alone_bring_no_tool_without_evidence_before_a_match():
    asked = "read the first lines of a long text file from disk"
    assert "send_email" not in names_after("read a file", "send_email", 3, asked=asked)[:2]
