"""Everyday words of other languages, as the English words that tools use for them."""

import pytest

from toolscout.text.everyday import translate
from toolscout.text.query import analyse
from toolscout.text.tokens import words


def english(text: str, known: frozenset[str] = frozenset()) -> str | None:
    """Return the translation with single blanks; None without one."""
    found = translate(text, words(text), known.__contains__)
    return None if found is None else " ".join(found[0].split())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Öffnen Sie den Vertrag", "open contract"),
        ("duplique le document", "copy document"),
        ("imprime el contrato", "print contract"),
        ("esporta i prodotti", "export product"),
        ("aprove o orçamento", "approve quote"),
        ("zoek de leverancier", "find supplier"),
        ("wydrukuj umowę", "print contract"),
        ("sözleşmeyi yazdır", "contract print"),
        ("распечатай договор", "print contract"),
        ("导出合同", "export contract"),
        ("契約書を印刷して", "contract print"),
        ("계약서 인쇄해 줘", "contract print"),
    ],
)
def test_an_order_in_another_language_is_read_word_by_word(text: str, said: str):
    assert english(text) == said


def test_a_verb_is_read_with_its_other_part_at_the_end():
    assert english("sagt den Termin ab") == "cancel appointment"
    assert english("sagt den Termin") == "sagt appointment"
    assert english("zeg de afspraak af") == "cancel appointment"


def test_accents_and_capitals_may_be_left_out():
    assert english("SUPPRIMER LE RESUME DU REPERTOIRE") == "delete RESUME folder"
    assert english("usun spotkanie") == english("usuń spotkanie") == "delete meeting"


@pytest.mark.parametrize(
    "text",
    [
        "open the order",
        "order status",
        "map data",
        "plan project",
        "send a mail to all participants",
        "die cast mold",
        "flights from Rio de Janeiro to La Paz",
        "kubectl rollout restart",
        "",
        "42",
    ],
)
def test_english_is_not_translated(text: str):
    assert english(text) is None


def test_tools_in_the_language_are_asked_in_it():
    assert english("Rechnung löschen") == "invoice delete"
    assert english("Rechnung löschen", frozenset(("rechnung", "loschen"))) is None
    assert english("Rechnung löschen", frozenset(("rechnung",))) == "invoice delete"


def test_what_is_left_in_the_language_is_embedded_beside_the_translation():
    query = analyse("lösche den Wunschzettel", is_known=lambda _: False)
    assert query.embedding_words == ("lösche", "den", "Wunschzettel", "delete", "Wunschzettel")
    assert [term.term for term in query.terms] == ["delet", "wunschzettel"]
    whole = analyse("lösche den Bericht", is_known=lambda _: False)
    assert whole.embedding_words == ("delete", "report")


def test_a_translation_keeps_what_was_said():
    text = "lösche den Bericht"
    query = analyse(text, [("zeig alles", 0.5)], is_known=lambda _: False)
    assert query.text == text
    assert query.spoken == analyse(text, [("zeig alles", 0.5)])
    assert analyse("delete the report", is_known=lambda _: False).spoken is None
