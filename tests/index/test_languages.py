"""Other languages: a table of their own, in the space of the English one, loaded on demand."""

import random

import numpy as np
import pytest

from tests.support import ENGINE, select
from toolscout.index.embedder import Embedder
from toolscout.index.languages import Languages, is_foreign
from toolscout.index.static_model import BUNDLED_MODEL
from toolscout.text.tokens import split_words

TOOLS = [
    {"name": "get_weather", "description": "Weather forecast for a city"},
    {"name": "send_email", "description": "Send an email message to a recipient"},
    {"name": "convert_currency", "description": "Convert an amount of money to another currency"},
    {"name": "delete_file", "description": "Delete a file from the disk"},
    {"name": "play_song", "description": "Play a song or music of an artist"},
    {"name": "book_hotel", "description": "Reserve a room in a hotel"},
]
WEATHER = {
    "zh": "明天上海的天气怎么样？",
    "ja": "明日の東京の天気を教えて",
    "ko": "내일 서울 날씨 알려 줘",
    "ru": "Какая завтра погода в Москве?",
    "de": "Wie wird das Wetter morgen in Berlin?",
    "fr": "Quelle est la météo de demain à Paris ?",
    "es": "¿Cómo va a estar el clima mañana en Madrid?",
}
WEATHER_TOMORROW = {
    "it": "che tempo fa domani",
    "pt": "como vai estar o tempo amanhã",
    "nl": "wat voor weer wordt het morgen",
    "pl": "jaka jutro będzie pogoda",
    "tr": "yarın hava nasıl olacak",
    "da": "hvordan bliver vejret i morgen",
    "sv": "hur blir vädret i morgon",
    "cs": "jaké bude zítra počasí",
    "uk": "яка погода завтра",
    "hu": "milyen idő lesz holnap",
    "ro": "cum va fi vremea mâine",
}
"""Asked in a few words."""

EMAIL = {
    "zh": "给经理发一封邮件",
    "ja": "部長にメールを送って",
    "ko": "부장님께 이메일 보내 줘",
    "ru": "Отправь письмо начальнику",
    "de": "Schick dem Chef eine Nachricht per E-Mail",
    "fr": "Envoie un courrier électronique à mon chef",
    "es": "Envía un correo electrónico a mi jefe",
}


@pytest.mark.parametrize("language", WEATHER)
def test_a_question_in_another_language_finds_the_english_tool(language: str):
    assert select(TOOLS, WEATHER[language]).names[0] == "get_weather"
    assert select(TOOLS, EMAIL[language]).names[0] == "send_email"


@pytest.mark.parametrize("language", WEATHER_TOMORROW)
def test_the_weather_of_tomorrow_is_found_in_every_language(language: str):
    approve = {"name": "approve_review", "description": "Approve a pull request"}
    assert select([*TOOLS, approve], WEATHER_TOMORROW[language]).names[0] == "get_weather"


def test_an_english_question_finds_a_tool_in_another_language():
    tools = [
        {"name": "t1", "description": "查询城市的天气预报"},
        {"name": "t2", "description": "发送电子邮件"},
        {"name": "t3", "description": "删除文件"},
    ]
    assert select(tools, "send an email").names[0] == "t2"
    assert select(tools, "delete a file").names[0] == "t3"


def test_english_neither_loads_the_table_nor_notices_it():
    embedder = Embedder()
    texts = ["create an issue", "getHTTPServer 2", "café near Los Angeles", "die roll", "hlpr zxq"]
    before = [embedder.encode(split_words(text)) for text in texts]
    known = [embedder.familiarity(split_words(text)) for text in texts]
    assert embedder.needs_languages("明天的天气")
    embedder.load_languages()
    fresh = [embedder.encode(split_words(text)) for text in texts]
    assert not embedder.needs_languages("明天的天气")
    assert np.array_equal(before, fresh)
    assert known == [embedder.familiarity(split_words(text)) for text in texts]


@pytest.mark.parametrize("text", ["create an issue", "Los Angeles", "naïve café", "", "😀"])
def test_english_needs_no_other_table(text: str):
    assert not Embedder().needs_languages(text)


def test_a_model_of_ones_own_is_asked_alone(tmp_path):
    for path in BUNDLED_MODEL.iterdir():
        if path.is_file():
            (tmp_path / path.name).symlink_to(path)
    assert not Embedder(tmp_path).needs_languages("明天的天气")


def test_english_words_in_another_language_weigh_as_much_as_its_own():
    mixed = ENGINE.embedder.encode(["GitHub", "날씨"])
    assert mixed @ ENGINE.embedder.encode(["GitHub"]) > 0.3
    assert mixed @ ENGINE.embedder.encode(["날씨"]) > 0.3


def test_gibberish_in_another_script_is_refused():
    chosen = random.Random(1)
    refused = sum(
        select(TOOLS, "".join(chr(chosen.randrange(0xAC00, 0xD7A4)) for _ in range(9))).outcome
        == "no_match"
        for _ in range(100)
    )
    assert refused >= 90


def test_a_table_says_what_it_knows_of_a_word():
    table = Languages()
    known = table.split("天气预报")
    assert known.letters == 4
    assert known.known > 2
    assert table.split("погода").known == 6
    assert table.split("𐎀𐎁").ids == ()
    assert "wetter" in table
    assert "kubernetes" not in table


def test_vectors_of_other_languages_have_unit_length():
    for text in WEATHER.values():
        assert np.linalg.norm(ENGINE.embedder.encode(split_words(text))) == pytest.approx(
            1.0, abs=1e-5
        )


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
    assert ENGINE.embedder.is_foreign(split_words(text))


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
    assert not ENGINE.embedder.is_foreign(split_words(text))


def test_a_lone_small_word_among_known_ones_is_no_other_language():
    known = {"report", "delivery", "cost"}
    found = ["report", "delivery", "cost", "des"]
    assert not is_foreign(found, known.__contains__)
    assert is_foreign(found, lambda _: False)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Wetter morgen", "get_weather"),
        ("Datei löschen", "delete_file"),
        ("supprimer le fichier", "delete_file"),
        ("enviar correo", "send_email"),
        ("cancellare il file dal disco", "delete_file"),
        ("mandare un messaggio di posta", "send_email"),
        ("usunąć plik", "delete_file"),
        ("Qual é a previsão do tempo para amanhã?", "get_weather"),
        ("Yarın İstanbul'da hava nasıl olacak?", "get_weather"),
        ("bestand verwijderen", "delete_file"),
    ],
)
def test_a_short_question_in_another_language_is_found(text: str, wanted: str):
    assert select(TOOLS, text).names[0] == wanted


VERBS = [
    {"name": f"{verb}_contract", "description": f"{verb.capitalize()} a contract"}
    for verb in ("create", "list", "update", "delete", "send", "print")
]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("druck den Vertrag aus", "print_contract"),
        ("envoie le contrat", "send_contract"),
        ("borra el contrato", "delete_contract"),
        ("aggiorna il contratto", "update_contract"),
        ("envie o contrato", "send_contract"),
        ("verwijder de overeenkomst", "delete_contract"),
        ("usuń umowę", "delete_contract"),
        ("sözleşmeyi sil", "delete_contract"),
        ("отправь договор", "send_contract"),
        ("打印合同", "print_contract"),
        ("契約書を送って", "send_contract"),
        ("계약서 삭제해", "delete_contract"),
    ],
)
def test_the_verb_of_an_everyday_order_decides_in_any_language(text: str, wanted: str):
    answer = select(VERBS, text)
    assert (answer.outcome, answer.names[0]) == ("match", wanted)


@pytest.mark.parametrize(
    "text",
    [
        "terraform plan",
        "merge pull requests",
        "resize image",
        "kubernetes pods in the cluster",
        "what does Rechnung schreiben mean",
        "send a Slack message",
        "getUserById",
        "write an invoice",
        "nginx vhost",
        "tsconfig eslint",
        "pytest fixture",
    ],
)
def test_english_with_words_that_the_model_does_not_know_stays_english(text: str):
    assert not ENGINE.embedder.is_in_other_language(text)


@pytest.mark.parametrize(
    "text",
    ["taksi çağır", "müziğin sesini kıs", "vai chover amanhã", "müzik çal"],
)
def test_a_question_without_small_words_is_told_by_words_that_only_the_dictionary_has(text: str):
    assert ENGINE.embedder.is_foreign_by_words(text.split())


@pytest.mark.parametrize(
    "text",
    ["deploy kubectl rollout", "what is the weather", "play the next song", "Acme Zenith Corp"],
)
def test_english_and_jargon_are_no_other_language(text: str):
    assert not ENGINE.embedder.is_foreign_by_words(text.split())
