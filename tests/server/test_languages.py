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


@pytest.mark.parametrize("ranker", ["auto", "bm25"])
@pytest.mark.parametrize(
    "question", ["zzqx", "谁修改了这行代码", "отправить сообщение в чат", "صيانة المركبات"]
)
def test_no_tools_stand_for_a_question_of_which_none_has_a_word(
    server: Process, question: str, ranker: str
):
    """Not even the first ones of the list, where there was no time to compare meanings."""
    tools = crowd(3_000, f"gusset{ranker}{len(question)}")
    fields = {"latency_budget_ms": 1, "explain": True, "ranker": ranker}
    cold = server.search(question, tools, **fields).json()
    assert (cold["selected_names"], cold["outcome"]) == ([], "no_match")
    assert cold["degraded"] == "keyword"
    assert "no time to compare meanings" in cold["notes"][0]
    pinned = server.search(question, tools, always_keep=[tools[7]["name"]], **fields).json()
    assert pinned["selected_names"] == []
