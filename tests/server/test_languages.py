"""Questions in other languages, over the wire."""

import pytest

from tests.support import Server

QUESTIONS = {
    "上海明天天气怎么样？": "get_weather",
    "이 파일을 읽어 줘": "read_file",
    "Wie wird das Wetter morgen in Berlin?": "get_weather",
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_first_answer_is_that_of_later_ones(server: Server, question: str):
    first = server.search(question)
    assert first.json()["selected_names"][0] == QUESTIONS[question]
    assert "degraded=no" in first.headers["x-tool-selection"]
    assert server.search(question).json() == first.json()
