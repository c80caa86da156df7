"""Word lists of an operator: synonyms and domains beside the bundled ones."""

import json
from pathlib import Path

import pytest

from tests.support import TOOLS, toolscout
from toolscout import Engine
from toolscout.contract.requests import Context, Filters
from toolscout.errors import ConfigurationError
from toolscout.index.expand import load_synonym_terms
from toolscout.index.lexicon import find_labels, load_synonyms, load_taxonomy
from toolscout.text.query import analyse

ZOO = [
    {"name": "feed_zebra", "description": "Feeds a zebra of the zoo"},
    {"name": "paint_wall", "description": "Paints a wall in a colour"},
]


def file(folder: Path, text: str) -> Path:
    path = folder / "words.toml"
    path.write_text(text, "utf-8")
    return path


def test_a_synonym_of_the_file_finds_both_ways(tmp_path: Path):
    path = file(tmp_path, 'animals = ["zebra hippotigris", "lion leo"]')
    plain, taught = Engine(ZOO, ranker="bm25"), Engine(ZOO, ranker="bm25", synonyms=path)
    assert plain.search("hippotigris").names == []
    found = taught.search("hippotigris", explain=True)
    assert found.names == ["feed_zebra"]
    assert found.matches[0].reasons[0].via == "synonym"
    related = load_synonyms(path)
    assert "leo" in related["lion"]
    assert "lion" in related["leo"]


def test_a_synonym_weighs_less_than_the_word(tmp_path: Path):
    path = file(tmp_path, 'a = ["zebra hippotigris"]')
    tools = [*ZOO, {"name": "feed_hippotigris", "description": "Feeds a hippotigris of the zoo"}]
    names = Engine(tools, synonyms=path, ranker="bm25").search("hippotigris").names
    assert names == ["feed_hippotigris", "feed_zebra"]


def test_the_bundled_synonyms_stay(tmp_path: Path):
    related = load_synonyms(
        file(tmp_path, 'x = ["delete vaporise"]\n[deep.er]\ny = ["e-mail snail_mail"]')
    )
    for term, others in load_synonym_terms().items():
        assert set(others) <= set(related[term])
    assert "vaporis" in related["delet"]
    assert "snailmail" in related["email"]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('a = ["one two"]\nb = ]', "line 2"),
        ('a = ["one two", "three"]', r"a\[1\] must be a text of 2 to 50 words, got 'three'"),
        ("[t]\na = [1]", r"t\.a\[0\] must be a text"),
        ('[t.u]\na = "one two"', r"t\.u\.a must be a list of texts"),
        ("a = true", "a must be a list"),
    ],
)
def test_another_form_of_synonyms_is_refused_with_its_place(tmp_path: Path, text: str, where: str):
    with pytest.raises(ConfigurationError, match=rf"synonyms: .*words\.toml: .*{where}"):
        load_synonyms(file(tmp_path, text))


def test_too_many_groups_are_refused(tmp_path: Path):
    groups = ", ".join(f'"word{n} other{n}"' for n in range(10_001))
    with pytest.raises(ConfigurationError, match="at most 10000 groups, got 10001"):
        load_synonyms(file(tmp_path, f"a = [{groups}]"))


def test_a_domain_of_the_file_is_inferred_and_filtered_by(tmp_path: Path):
    path = file(tmp_path, '[signals]\nanimals = "zebra zoo lion"\n[files]\n".ark" = "lion zoo"')
    engine = Engine([*ZOO, *TOOLS], domains=path)
    assert engine.search("feed paint", filters=Filters(domains=("animals",))).names == [
        "feed_zebra"
    ]
    taxonomy = load_taxonomy(path)
    assert taxonomy.domains[-1] == "animals"
    assert set(taxonomy.file_terms("noah.ark")) == {"lion", "zoo"}
    context = Context(files=("noah.ark",))
    assert [
        reason.weight
        for match in engine.search("send a message", context=context, explain=True).matches
        for reason in match.reasons
        if reason.field == "domain"
    ]


def test_a_domain_of_the_same_name_takes_its_place(tmp_path: Path):
    taxonomy = load_taxonomy(file(tmp_path, '[signals]\ncomms = "carrier pigeon"'))
    terms = [term.term for term in analyse("an email message").terms]
    assert taxonomy.domain_of(terms) == ""
    assert taxonomy.domain_of(["carrier", "pigeon"]) == "comms"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('[signals]\na = b"', "line 2"),
        (
            '[words]\na = "b"',
            r"unknown words; there are \[signals\], \[names\], \[namespaces\], \[files\]",
        ),
        ("signals = 1", "signals must be a table"),
        ("[signals]\na = []", r"signals\.a must be a text of words"),
        ('[files]\n".x" = " "', r"files\.\.x must be a text of words"),
    ],
)
def test_another_form_of_domains_is_refused_with_its_place(tmp_path: Path, text: str, where: str):
    with pytest.raises(ConfigurationError, match=rf"domains: .*words\.toml: .*{where}"):
        load_taxonomy(file(tmp_path, text))


def test_a_key_that_reads_like_a_word_of_its_group_is_named(tmp_path: Path):
    path = file(
        tmp_path,
        'blorp = ["invoice bill"]\nmoney = ["invoice bill", "refund chargeback"]\n'
        '[pay]\nbill = ["bill receipt"]\nglimp = ["fee charge"]',
    )
    assert Engine(ZOO, ranker="bm25", synonyms=path).search("blorp").names == []
    assert find_labels(path) == ["blorp", "glimp"]
    checked = toolscout("check-config", "--synonyms", str(path))
    assert checked.returncode == 0
    assert "warning: synonyms: blorp is a label, and finds nothing by itself" in checked.stderr
    assert "money" not in checked.stderr


@pytest.mark.parametrize("setting", ["synonyms", "domains"])
def test_a_wrong_file_is_said_before_listening(tmp_path: Path, setting: str):
    wrong, missing = file(tmp_path, "a = 1"), tmp_path / "none.toml"
    for command, path, said in (
        ("serve", wrong, "words.toml: "),
        ("check-config", missing, "cannot read "),
    ):
        done = toolscout(command, f"--{setting}", str(path))
        assert done.returncode == 2
        assert f"{setting}: " in done.stderr
        assert said in done.stderr


def test_a_search_on_the_command_line_takes_them_too(tmp_path: Path):
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps(ZOO), "utf-8")
    path = file(tmp_path, 'animals = ["zebra hippotigris"]')
    asked = ("search", "hippotigris", "--tools", str(tools), "--ranker", "bm25")
    assert toolscout(*asked).stdout.split() == []
    assert toolscout(*asked, "--synonyms", str(path)).stdout.split() == ["feed_zebra"]
    assert "domains: " in toolscout(*asked, "--domains", str(path)).stderr
