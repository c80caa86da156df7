"""Everyday words of other languages, as the English words that tools use for them."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import crowd, select
from toolscout import data
from toolscout.text.everyday import translate
from toolscout.text.query import analyse
from toolscout.text.tokens import split_words


def english(text: str, known: frozenset[str] = frozenset()) -> str | None:
    """Return the translation with single blanks; None without one."""
    found = translate(text, split_words(text), known.__contains__)
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
        ("slet fakturaen", "delete invoice"),
        ("skicka rapporten", "send report"),
        ("vytiskni smlouvu", "print contract"),
        ("надішли звіт", "send report"),
        ("fizesd ki a számlát", "pay invoice"),
        ("anulează factura", "cancel invoice"),
    ],
)
def test_an_order_in_another_language_is_read_word_by_word(text: str, said: str):
    assert english(text) == said


def test_a_verb_is_read_with_its_other_part_at_the_end():
    assert english("sagt den Termin ab") == "cancel appointment"
    assert english("sagt den Termin") == "sagt appointment"
    assert english("zeg de afspraak af") == "cancel appointment"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("schalte bitte das Licht im Flur aus", "turn off turn off light hallway"),
        ("zet de verwarming uit", "turn off turn off heating thermostat"),
        ("skru op for musikken", "turn up for music"),
        ("sätt på radion", "turn on radio"),
        ("kapcsold le a villanyt", "turn off light"),
    ],
)
def test_a_verb_is_read_with_a_small_word_after_it(text: str, said: str):
    assert english(text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("apaga a luz", "turn off light"),
        ("apaga o arquivo", "delete file"),
        ("ışığı aç", "light turn on"),
        ("dosyayı aç", "file open"),
        ("sube el volumen", "turn up volume sound"),
        ("sube el archivo", "upload file"),
        ("mets le réveil", "set alarm"),
        ("mets la musique", "play music"),
        ("mets du jazz", "play jazz"),
        ("zavři soubor", "close file"),
    ],
)
def test_the_object_says_what_a_verb_means(text: str, said: str):
    assert english(text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("enciéndela", "turn on"),
        ("dime un chiste", "tell joke"),
        ("mandagli un messaggio", "send message"),
        ("dis-moi une blague", "tell- joke"),
        ("Ayşe'ye mesaj gönder", "Ayşe' message send"),
        ("ouvre l'agenda d'aujourd'hui", "open 'calendar 'today'"),
    ],
)
def test_a_word_is_read_without_what_hangs_on_it(text: str, said: str):
    assert english(text) == said


@pytest.mark.parametrize("text", ["oggi vado", "hoy mejor", "heute nicht", "aujourd'hui", "новий"])
def test_a_time_alone_is_no_request(text: str):
    assert english(text) is None


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
        "find a film",
        "dim lamp",
        "ring Anna",
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


def test_no_word_stands_twice_in_the_lists_of_a_language():
    for language, at_work in data.load("everyday").items():
        texts = [*at_work.values(), *data.load("household")[language].values()]
        counted = Counter(word for text in texts for word in text.split())
        assert [word for word, count in counted.items() if count > 1] == [], language


def test_every_language_has_small_words_and_words_of_work_and_home():
    small = data.load("foreign")["words"].keys()
    assert small == data.load("everyday").keys() == data.load("household").keys()


MAIL = [
    {"name": "send_email", "description": "Send an email to a person"},
    {"name": "delete_email", "description": "Delete an email"},
    {"name": "turn_on_light", "description": "Turn on a light"},
    *crowd(20),
]


@pytest.mark.parametrize("text", ["snd an emial to bob", "sned an email", "snd emial"])
def test_a_mistyped_english_request_is_corrected_and_not_taken_for_another_language(text: str):
    assert english(text) is None
    assert select(MAIL, text).names[0] == "send_email"


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


# What a verb means by the noun after it.


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("open a pull request", "create a pull request"),
        ("Could you please file a bug?", "Could you please create a bug?"),
        ("I want to log an issue, thanks", "I want to create an issue, thanks"),
        ("raising a new ticket", "create a new ticket"),
        ("open the file notes.txt", "read the file notes.txt"),
        ("set up a database", "create a database"),
        ("get rid of the old branch", "delete the old branch"),
        ("find the bug and land the pull request", "find the bug and merge the pull request"),
        ("send a message to #general", "send a message to channel"),
        ("first line\n\nopen an issue", "first line\n\nopen an issue"),
        ("first line.\n\nopen an issue", "first line.\n\ncreate an issue"),
    ],
)
def test_a_verb_means_what_the_noun_after_it_says(text: str, said: str):
    assert analyse(text).resolved_text == said


@pytest.mark.parametrize(
    "text",
    [
        "list open issues",
        "open issues of this repository",
        "show the log of the issue tracker",
        "read the file about the bug",
        "open the door to the issue",
        "search tweets with the tag #python",
        "fix issue #42",
        "open request.json",
        "open task.txt in the editor",
        "raise the ticket's priority",
        "open issue-tracker",
        "open discussion/12",
        "",
        "#",
        "open",
    ],
)
def test_a_word_that_is_no_order_keeps_its_meaning(text: str):
    query = analyse(text)
    assert query.resolved_text == text
    assert not query.meanings


TOOLS = [
    {"name": "create_issue", "description": "Make a new issue in a tracker"},
    {"name": "read_file", "description": "Read a file from the disk"},
    {"name": "delete_file", "description": "Delete a file from the disk"},
    {"name": "file_upload", "description": "Upload a file"},
    {"name": "open_state", "description": "Open or closed, by number"},
    *crowd(20),
]


@pytest.mark.parametrize(
    "request_for_it",
    ["file a bug", "open an issue", "log an issue about the crash", "raise an issue please"],
)
def test_filing_opening_logging_and_raising_an_issue_is_creating_it(request_for_it: str):
    assert select(TOOLS, request_for_it).names[0] == "create_issue"


def test_a_catalog_without_a_word_for_the_meaning_is_searched_for_the_verb():
    tools = [{"name": "open_ticket", "description": "Open a ticket"}, *crowd(20)]
    assert select(tools, "open a ticket").names[0] == "open_ticket"


@given(st.text(alphabet="ab #.,\n", max_size=20), st.text(alphabet="ab #.,\n", max_size=20))
def test_the_rest_of_a_request_stays_as_it_was_written(before: str, after: str):
    text = f"{before}. file a bug {after}".strip()
    said = analyse(text).resolved_text
    assert said.replace("channel", "").count("create a bug") == 1
    assert "file a bug" not in said
