"""`make agent-eval` counts what a model does with all, the selected and the wanted tools."""

import json
from pathlib import Path

import pytest

from evals import agent
from tests.client.upstream import Exchange, peer
from tests.support import TOOLS, crowd
from tests.turns.model import ScriptedModel

WANTED = {
    "write an e-mail to Ann": "send_email",
    "hm, you know": "read_file",
    "tell me a joke": "",
}
"""A tool that is shown at once, one that only the model's search finds, and none."""
JOKE_CALLS_ANY = ["2 of 3", "6", "18", "0"]
TOO_MANY = ["not possible with more than 128 tools", "–", "–", "–"]
PATH = {"input_schema": {"properties": {"path": {"type": "string"}}}}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setattr(agent, "PAUSES_S", (0.0,))
    (tmp_path / "tools.json").write_text(json.dumps([one | PATH for one in TOOLS]))
    lines = ["query,tools", *(f'"{query}",{tool}' for query, tool in WANTED.items())]
    (tmp_path / "questions.csv").write_text("\n".join(lines))
    return ["--tools", f"{tmp_path}/tools.json", "--questions", f"{tmp_path}/questions.csv"]


def measured(url: str, flags: list[str]) -> int:
    return agent.main(["--base-url", f"{url}/v1/", "--model", "scripted", *flags])


class Model(ScriptedModel):
    """Calls the wanted tool if it sees it, and searches for it otherwise."""

    def __call__(self, exchange: Exchange) -> None:
        self.wants = WANTED[exchange.json["messages"][0]["content"]]
        self.query = "read a file" if self.wants else "a joke"
        super().__call__(exchange)


def rows(text: str) -> dict[str, list[str]]:
    cells = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return {title: figures for title, *figures in cells[2:]}


@pytest.mark.parametrize(("more", "every"), [(0, JOKE_CALLS_ANY), (128, TOO_MANY)])
def test_a_model_is_counted_with_all_the_selected_and_the_wanted(files, capsys, more, every):
    Path(files[1]).write_text(json.dumps(crowd(more) + json.loads(Path(files[1]).read_text())))
    with peer(Model()) as model:
        assert measured(model.url, files) == 0
    figures = list(rows(capsys.readouterr().out).values())
    assert figures == [every, ["3 of 3", "7", "21", "0"], ["3 of 3", "5", "15", "0"]]


def test_a_question_that_fails_is_counted_and_tokens_without_usage_are_marked(files, capsys):
    def script(exchange: Exchange) -> None:
        status = 429 if len(exchange.json.get("tools", [])) > 1 else 200
        answer = {"choices": [{"message": {}}], "error": {"message": "slow down"}}
        exchange.answer(json.dumps(answer).encode(), status=status)

    with peer(script) as model:
        assert measured(model.url, [*files, "--limit", "1"]) == 0
        assert len(model.requests) == 5  # the refused ones once more
    text = capsys.readouterr().out
    assert rows(text)[agent.ALL] == ["0 of 1", "0", "0", "1"]
    assert rows(text)[agent.ORACLE][2].startswith("~")
    assert f"{agent.ALL}: 1 failed: 429 slow down" in text


@pytest.mark.parametrize(
    ("key", "url", "why"),
    [
        ("", "", "set OPENAI_API_KEY"),
        ("none", "http://127.0.0.1:1", "127.0.0.1:1/v1/chat/completions: "),
        ("none", "", "/v1/chat/completions: 401 wrong key"),
    ],
)
def test_an_endpoint_that_cannot_be_used_is_said(files, capsys, monkeypatch, key, url, why):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    refuse = lambda one: one.answer(b'{"error": {"message": "wrong key"}}', status=401)  # noqa: E731
    with peer(refuse) as model, pytest.raises(SystemExit, match="2"):
        measured(url or model.url, files)
    assert why in capsys.readouterr().err
