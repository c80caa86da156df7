"""Questions in other languages, over the wire."""

from pathlib import Path

import pytest

from tests.support import Process, crowd, running

QUESTIONS = {
    "上海明天天气怎么样？": "get_weather",
    "이 파일을 읽어 줘": "read_file",
    "Wie wird das Wetter morgen in Berlin?": "get_weather",
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_first_answer_is_that_of_later_ones(server: Process, question: str):
    first = server.search(question)
    assert first.json()["selected_names"][0] == QUESTIONS[question]
    assert "degraded=no" in first.headers["x-tool-selection"]
    assert server.search(question).json() == first.json()


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_first_question_of_a_process_needs_no_more_time(tmp_path: Path, question: str):
    with running(tmp_path, "--latency-budget-ms", "60000") as fresh:
        assert fresh.search("read a file").status_code == 200
        first = fresh.search(question, latency_budget_ms=3)
    assert first.json()["selected_names"][0] == QUESTIONS[question]
    assert "degraded=no" in first.headers["x-tool-selection"]


def test_a_question_that_words_cannot_answer_is_never_told_that_nothing_fits(server: Process):
    """Where there was no time to compile the list, nothing was judged."""
    tools = crowd(3_000, "flange")
    cold = server.search("谁修改了这行代码", tools, latency_budget_ms=1, explain=True).json()
    assert (cold["outcome"], cold["degraded"]) == ("weak", "keyword")
    assert len(cold["selected_names"]) == 5
    assert "not judged" in cold["notes"][0]


def test_a_word_that_no_tool_has_is_no_match_in_english(server: Process):
    tools = crowd(3_000, "gusset")
    cold = server.search("zzqx", tools, latency_budget_ms=1, explain=True).json()
    assert cold["outcome"] == "no_match"
