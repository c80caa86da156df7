"""Everyday words of other languages, as the English words that tools use for them."""

from collections import Counter

import pytest

from tests.support import select
from toolscout import data
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
        "Who played in La Liga?",
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


def test_a_whole_translation_counts_twice_beside_what_was_said():
    whole = analyse("lösche den Bericht", is_known=lambda _: False)
    assert whole.embedding_words == ("lösche", "den", "Bericht", *("delete", "report") * 2)
    assert {"delet", "report", "bericht"} <= {term.term for term in whole.terms}


def test_values_are_not_translated():
    assert english("schick den Bericht an anna@firma.de") == "send report anna@firma.de"
    assert english("lies kunde_report.csv") == "read kunde_report.csv"
    assert english("öffne https://firma.de/rechnung") == "open https://firma.de/rechnung"


def test_the_words_of_a_text_of_any_length_are_bounded():
    assert english("lösche " * 5_000) is not None
    assert english("ö" * 5_000 + " löschen") == "ö" * 5_000 + " delete"


def test_no_word_stands_twice_in_a_list():
    for language, meanings in data.load("everyday").items():
        if language != "english":
            counted = Counter(word for text in meanings.values() for word in text.split())
            assert [word for word, count in counted.items() if count > 1] == [], language


SPOKEN = [
    ("rechnung_loeschen", "Löscht eine Rechnung"),
    ("rechnung_erstellen", "Erstellt eine neue Rechnung"),
    ("datei_lesen", "Liest eine Datei"),
    ("t1", "Usuwanie faktury"),
    ("t2", "Wystawianie faktury"),
    ("t3", "Odczyt pliku"),
]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("lösche die Rechnung", 0),
        ("Rechnung löschen", 0),
        ("erstelle eine Rechnung", 1),
        ("Datei öffnen", 2),
        ("usuń fakturę", 3),
        ("wystaw fakturę", 4),
        ("otwórz plik", 5),
    ],
)
def test_tools_that_are_described_in_the_language_are_found(text: str, wanted: int):
    tools = [{"name": name, "description": about} for name, about in SPOKEN]
    mine = tools[:3] if wanted < 3 else tools[3:]
    assert select(mine, text).names[0] == tools[wanted]["name"]


def test_a_translation_keeps_what_was_said():
    text = "lösche den Bericht"
    query = analyse(text, [("zeig alles", 0.5)], is_known=lambda _: False)
    assert query.text == text
    assert query.spoken == analyse(text, [("zeig alles", 0.5)])
    assert analyse("delete the report", is_known=lambda _: False).spoken is None
