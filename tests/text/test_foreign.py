"""Texts in other languages with Latin letters are told from English ones by their small words."""

import pytest

from tests.support import ENGINE
from toolscout.index.languages import is_foreign
from toolscout.text.tokens import words


@pytest.mark.parametrize(
    "text",
    [
        "Wie wird das Wetter morgen in Berlin?",
        "Zeig mir alle offenen Rechnungen",
        "Quel temps fera-t-il demain ?",
        "Envoie un message à ma sœur",
        "¿Qué tiempo hará mañana?",
        "Borra la última factura",
    ],
)
def test_sentences_with_small_words_of_another_language_are_foreign(text: str):
    assert ENGINE.embedder.is_foreign(words(text))


@pytest.mark.parametrize(
    "text",
    [
        "create an issue in the repository",
        "flights from Rio de Janeiro to La Paz",
        "Los Angeles to Las Vegas",
        "die roll with two dice",
        "Hotel El Paso",
        "café near the Champs-Élysées",
        "git push origin main",
        "getUserById",
        "",
    ],
)
def test_english_is_not_foreign_whatever_places_it_names(text: str):
    assert not ENGINE.embedder.is_foreign(words(text))


def test_a_lone_small_word_among_known_ones_is_no_other_language():
    known = {"report", "delivery", "cost"}
    found = ["report", "delivery", "cost", "des"]
    assert not is_foreign(found, known.__contains__)
    assert is_foreign(found, lambda _: False)
