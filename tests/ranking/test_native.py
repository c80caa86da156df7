"""The compiled part of the ranking decides as Python does, to the last digit that is shown."""

import sys
from concurrent.futures import ThreadPoolExecutor
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.both_ways import ODD, compare, in_python, make_odd, read_lines, read_questions
from tests.support import ENGINE, compiled, environment, ran
from toolscout.contract.requests import Context, Filters, Message
from toolscout.engine import Engine
from toolscout.experience.prior import LearnedIndex, prior_of
from toolscout.experience.reported import Experience, Observation
from toolscout.index.pattern_vectors import pack_text, unpack
from toolscout.ranking import pipeline
from toolscout.ranking.ask import Ask
from toolscout.ranking.native import extension, joining
from toolscout.text import conversation

pytestmark = pytest.mark.skipif(
    extension.find_extension() is None, reason=f"the ranking is {extension.describe()}"
)

TOOLS = [
    {"name": row["name"], "description": row["description"]}
    for row in read_lines("languages/business_tools.jsonl")
]
WANTED = {
    name for row in read_lines("hard/requests.jsonl") for some in row["wanted"] for name in some
}
CATALOG = compiled([*TOOLS, *({"name": name, "description": name} for name in sorted(WANTED))])
QUESTIONS = read_questions()
WORDS = " ".join(QUESTIONS).split()


def test_names_reasons_and_scores_are_those_of_python():
    some = Random(1).sample(QUESTIONS, 300)
    joined = [compare(CATALOG, Ask(pattern=text, top_k=5)) for text in some]
    assert sum(joined) > 0.3 * len(joined)  # most of these are in other languages


def test_english_requests_are_decided_natively():
    requests = [row["text"] for row in read_lines("hard/requests.jsonl")]
    joined = [compare(CATALOG, Ask(pattern=text)) for text in requests]
    assert sum(joined) > 0.9 * len(joined)


def test_long_requests_are_the_same():
    chance = Random(2)
    for _ in range(25):
        text = ". ".join(chance.sample(QUESTIONS, 15))
        assert compare(CATALOG, Ask(pattern=text, top_k=8)) in (True, False)


def test_conversations_are_decided_natively():
    joined = []
    for row in read_lines("hard/conversations.jsonl"):
        read = conversation.read(msgspec.convert(row["messages"], tuple[Message, ...]))
        joined.append(compare(CATALOG, Ask(pattern=read.pattern, earlier=read.earlier)))
    assert sum(joined) > 0.8 * len(joined)


@pytest.mark.parametrize(
    "options",
    [
        {"filters": Filters(only=("create_invoice", "list_invoices", "send_message"))},
        {"always_keep": ("create_invoice", "nothing"), "top_k": 3},
        {"min_score": 0.2, "top_k": 20},
        {"budget_tokens": 120},
        {"context": Context(signals=("invoice",))},
        {"prerequisites": False, "top_k": 100},
        {"ranker": "hybrid", "no_match_below": 0.5},
    ],
)
def test_options_are_the_same(options: dict):
    joined = [compare(CATALOG, Ask(pattern=text, **options)) for text in QUESTIONS[:40]]
    assert any(joined)


def test_what_was_reported_counts_as_it_does_in_python():
    experience = Experience()
    for number, text in enumerate(QUESTIONS[::9]):
        names = ENGINE.decide(CATALOG, Ask(pattern=text)).names
        if names:
            tool = names[number % len(names)]
            seen = Observation(text, tool, number % 5 != 0, time=1e9 + number)
            experience.learn(seen, unpack(pack_text(text, ENGINE.embedder)))
    keys = [(name, "") for name in CATALOG.names]
    prior = prior_of(LearnedIndex(keys, experience, 1e9 + 86_400))
    for text in QUESTIONS[:120]:
        compare(CATALOG, Ask(pattern=text), {"prior": prior})


def test_odd_texts_are_the_same():
    chance = Random(3)
    for _ in range(150):
        text = make_odd(chance, WORDS)
        if text.strip():
            compare(CATALOG, Ask(pattern=text, top_k=chance.choice((1, 3, 5, 20))))


@given(st.lists(st.one_of(st.sampled_from(ODD), st.sampled_from(WORDS), st.text()), min_size=1))
@settings(max_examples=60)
def test_any_text_is_the_same(pieces: list[str]):
    for joint in (" ", ""):
        if (text := joint.join(pieces)).strip():
            compare(CATALOG, Ask(pattern=text))


def test_a_list_of_one_tool_and_one_without_words_are_the_same():
    for tools in (TOOLS[:1], [{"name": "_"}], [{"name": "見る"}, {"name": "a"}]):
        catalog = compiled(tools)
        for text in (*QUESTIONS[:20], "_", "見る", "a", tools[0]["name"]):
            compare(catalog, Ask(pattern=text))


def test_threads_decide_alike_while_words_are_forgotten(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(joining, "MAX_WORDS", 40)
    monkeypatch.setattr(joining, "_BOOKS", {})
    lists = [compiled(TOOLS[at::2]) for at in (0, 1)]
    asked = [(lists[at % 2], Ask(pattern=text)) for at, text in enumerate(QUESTIONS[:160] * 2)]
    embedder = ENGINE.embedder

    def decide(one: tuple) -> tuple:
        decision = pipeline.decide(*one, embedder)
        return decision.names, decision.outcome

    with in_python():
        alone = [*map(decide, asked)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as threads:
            together = [*threads.map(decide, asked)]
    finally:
        sys.setswitchinterval(interval)
    assert together == alone


def test_a_list_with_synonyms_of_its_own_is_left_to_python():
    engine = Engine(TOOLS)
    catalog = msgspec.structs.replace(engine.catalog, synonyms={"invoice": ("bill",)})
    assert not compare(catalog, Ask(pattern="create an invoice"))


SAY = """
import sys
sys.modules["toolscout.ranking.native._join"] = None
from toolscout import Engine
from toolscout.ranking.native import extension
print(extension.describe(), Engine([{"name": "read_file"}]).search("read a file").names)
"""


def test_without_the_extension_python_ranks():
    done = ran([sys.executable, "-c", SAY], env=environment())
    assert done.stdout.strip() == "python (not built) ['read_file']"


def test_the_variable_switches_it_off():
    version = [sys.executable, "-m", "toolscout", "version", "--json"]
    assert '"native"' in ran(version, env=environment()).stdout
    off = environment() | {"TOOLSCOUT_NATIVE": "off"}
    assert '"python (off)"' in ran(version, env=off).stdout
