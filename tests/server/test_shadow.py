"""`shadow_ranker`: a candidate is compared with every answer, and no caller notices."""

from collections.abc import Iterator

import pytest

from tests.support import TOOLS, Server, crowd, running, until
from toolscout.server.observe.shadow import MAX_WAITING, Shadow, overlap

QUERIES = ["read a file", "weather in the city", "zxqv wvut", "send a message", "create_issue"]


@pytest.fixture(scope="module")
def shadowed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("shadowed"), "--shadow-ranker", "bm25") as started:
        yield started


def compared(server: Server) -> float:
    return server.metric('toolscout_shadow_total{result="compared"}')


@pytest.fixture(autouse=True)
def _at_rest(shadowed: Server) -> None:
    """What earlier tests asked has been compared."""

    def told() -> float:
        results = ("compared", "skipped", "dropped", "failed")
        return sum(shadowed.metric(f'toolscout_shadow_total{{result="{r}"}}') for r in results)

    def answered() -> float:
        outcomes = ("match", "weak", "no_match")
        return sum(shadowed.metric(f'toolscout_requests_total{{outcome="{o}"}}') for o in outcomes)

    until(lambda: told() == answered())


def test_answers_are_those_without_a_shadow(shadowed: Server, server: Server):
    for query in QUERIES:
        assert shadowed.search(query).content == server.search(query).content


def test_every_answer_is_compared_in_figures(shadowed: Server):
    before = compared(shadowed)
    for query in QUERIES:
        shadowed.search(query)
    until(lambda: compared(shadowed) == before + len(QUERIES))
    assert shadowed.metric("toolscout_shadow_overlap_count") == compared(shadowed)
    assert shadowed.metric("toolscout_shadow_duration_seconds_count") == compared(shadowed)
    assert 0 < shadowed.metric("toolscout_shadow_overlap_sum") <= compared(shadowed)


def test_a_ranker_agrees_with_itself(shadowed: Server):
    until(lambda: compared(shadowed) == shadowed.metric("toolscout_shadow_overlap_count"))
    total, same = compared(shadowed), shadowed.metric("toolscout_shadow_overlap_sum")
    for query in QUERIES:
        shadowed.search(query, ranker="bm25", filters={"exclude": ["send_email"]})
    until(lambda: compared(shadowed) == total + len(QUERIES))
    assert shadowed.metric("toolscout_shadow_overlap_sum") == same + len(QUERIES)


def test_an_answer_before_compiling_is_left_out(shadowed: Server):
    skipped = 'toolscout_shadow_total{result="skipped"}'
    before = shadowed.metric(skipped)
    shadowed.search("spin", crowd(4_000, "anvil"), latency_budget_ms=1)
    assert shadowed.metric(skipped) == before + 1


def test_no_text_is_kept_of_it(shadowed: Server):
    before = compared(shadowed)
    shadowed.search("read a xyzzyx file", TOOLS)
    until(lambda: compared(shadowed) > before)
    assert "xyzzyx" not in shadowed.get("/metrics").text
    assert "xyzzyx" not in shadowed.stdout


def test_there_is_none_unless_asked_for(server: Server):
    server.search("read a file")
    assert compared(server) == 0


def test_what_waits_is_bounded():
    from tests.support import ENGINE, compiled, select
    from toolscout.server.observe.metrics import Metrics

    def count(result: str) -> float:
        return metrics.registry.get_sample_value("toolscout_shadow_total", {"result": result}) or 0

    metrics, catalog = Metrics(), compiled(TOOLS)
    busy = True
    shadow = Shadow("bm25", ENGINE, metrics, lambda: busy)
    for _ in range(MAX_WAITING + 10):
        shadow.follow(select(catalog, "read"))
    assert count("dropped") >= 9
    busy = False
    until(lambda: count("compared") + count("dropped") == MAX_WAITING + 10)
    shadow.close()


@pytest.mark.parametrize(
    ("first", "second", "share"),
    [([], [], 1), (["a"], [], 0), (["a", "b"], ["b", "a"], 1), (["a", "b", "c", "d"], ["a"], 0.25)],
)
def test_overlap(first: list[str], second: list[str], share: float):
    assert overlap(first, second) == overlap(second, first) == share
