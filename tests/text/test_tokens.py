"""How text becomes terms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscout.text.tokens import analyse_terms, fold, speak_name, split_words


def same(*texts: str) -> bool:
    """Whether each further text shares all terms of the first."""
    return all(set(analyse_terms(texts[0])) <= set(analyse_terms(text)) for text in texts[1:])


@pytest.mark.parametrize(
    ("identifier", "parts"),
    [
        ("createIssue", {"creat", "issu", "createissue"}),
        ("HTTPServer", {"http", "server", "httpserver"}),
        ("parseHTTPResponse", {"pars", "http", "respons", "parsehttpresponse"}),
        ("getPRDiff", {"get", "pr", "diff", "getprdiff"}),
    ],
)
def test_camel_case_and_acronyms_are_split_before_folding(identifier: str, parts: set[str]):
    assert set(analyse_terms(identifier)) == parts


@pytest.mark.parametrize("whole", ["s3", "k8s", "ec2", "base64", "utf8", "oauth2"])
def test_words_with_digits_are_kept_whole(whole: str):
    assert whole in analyse_terms(whole)
    assert whole in analyse_terms(whole.upper())
    assert whole in analyse_terms(f"the {whole}-bucket")


def test_words_with_digits_are_also_split():
    assert {"base", "64"} <= set(analyse_terms("base64"))
    assert "oauth" in analyse_terms("oauth2")


def test_every_punctuation_mark_separates():
    for mark in list("_-./:,;!?()[]{}<>|@#$%^&*+=~`'\"\\ \t\n—…「」、。·"):
        assert analyse_terms(f"red{mark}green") == ["red", "green"]


@pytest.mark.parametrize(
    ("written", "plain"),
    [("Café", "cafe"), ("ÜBER", "uber"), ("naïve", "naive"), ("Ελλάδα", "ελλαδα"), ("ﬁle", "file")],
)
def test_case_and_accents_are_folded(written: str, plain: str):
    assert analyse_terms(written) == analyse_terms(plain)


@pytest.mark.parametrize(
    ("one", "other"),
    [("files", "file"), ("searching", "search"), ("issues", "issue"), ("scheduled", "schedule")],
)
def test_english_words_are_stemmed(one: str, other: str):
    assert analyse_terms(one) == analyse_terms(other)


def test_different_words_keep_different_stems():
    assert not set(analyse_terms("add")) & set(analyse_terms("address"))
    assert not set(analyse_terms("pr")) & set(analyse_terms("improve"))


@pytest.mark.parametrize(
    ("text", "bigrams"),
    [
        ("天気予報", ["天気", "気予", "予報"]),
        ("파일검색", ["파일", "일검", "검색"]),
        ("文", ["文"]),
        ("カメラ", ["カメ", "メラ"]),
    ],
)
def test_unspaced_scripts_become_bigrams(text: str, bigrams: list[str]):
    assert analyse_terms(text) == bigrams


def test_scripts_are_cut_where_they_meet():
    assert analyse_terms("検索API") == ["検索", "api"]


@pytest.mark.parametrize("word", ["मौसम", "हिन्दी", "தமிழ்", "বাংলা"])
def test_vowel_signs_do_not_cut_a_word(word: str):
    assert len(analyse_terms(word)) == 1
    assert analyse_terms(f"{word}!") == analyse_terms(word)


def test_compatibility_forms_are_one():
    assert analyse_terms("ｆｉｌｅ") == analyse_terms("𝐟𝐢𝐥𝐞") == analyse_terms("file")
    assert analyse_terms("e\u0301te\u0301") == analyse_terms("été")


@pytest.mark.parametrize(
    ("name", "spoken"),
    [
        ("mcp__github__getPRDiff", "mcp github get PR Diff"),
        ("s3_put", "s3 put"),
        ("read-file", "read file"),
    ],
)
def test_names_can_be_spoken(name: str, spoken: str):
    assert speak_name(name) == spoken


def test_fold_is_for_any_script():
    assert fold("ÀÉÎ straße ПРИВЕТ") == "aei strasse привет"


@given(st.text())
def test_any_text_has_terms_or_none(text: str):
    found = analyse_terms(text)
    assert all(found)
    assert bool(found) == bool(split_words(text))
    assert analyse_terms(text) == found


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_is_split_alike_beside_another_script(text: str):
    assert split_words(f"{text} né") == [*split_words(text), "né"]


@given(st.lists(st.sampled_from(["alpha", "Beta", "gammaRay", "s3", "天気"]), max_size=6))
def test_terms_of_a_text_are_those_of_its_words(found: list[str]):
    assert analyse_terms(" ".join(found)) == [
        term for word in found for term in analyse_terms(word)
    ]


def test_endless_runs_are_cut():
    assert sum(map(len, analyse_terms("a" * 100_000))) < 1_000


def test_spelling_of_an_identifier_does_not_matter():
    assert same("create issue", "createIssue", "create_issue", "create-issue", "CREATE_ISSUE")
