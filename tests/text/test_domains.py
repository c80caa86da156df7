"""Fields of work, by telling words of tools, queries and surroundings."""

import pytest

from toolscout import data
from toolscout.contract.requests import Context
from toolscout.ranking.boost import find_work
from toolscout.text.domains import Taxonomy, find_leading, load_bundled
from toolscout.text.query import analyse
from toolscout.text.tokens import analyse_terms

SMALL = Taxonomy(
    {"zoo": "zebra lion gnu shared", "farm": "cow horse shared"},
    {"Ark.txt": "lion zebra", ".cow": "cow"},
    {"zoo": "gnu", "farm": "horses"},
    {"zoo": "keeper", "farm": "barn"},
)


def test_one_word_of_a_namespace_tells_its_domain():
    assert SMALL.domain_of_namespace("keeper") == "zoo"
    assert SMALL.domain_of_namespace("horses") == "farm"
    assert SMALL.domain_of_namespace("barn.keeper") == ""
    assert SMALL.domain_of_namespace("other") == SMALL.domain_of_namespace("") == ""
    assert SMALL.domains_named("keeper") == ()


def test_single_words_of_a_name_tell_domains_in_their_order():
    assert SMALL.domains_named("horse_and_gnu") == ("farm", "zoo")
    assert SMALL.domains_named("zebra") == ()


BUNDLED_NAMES = data.load("domains")["names"]


@pytest.mark.parametrize("domain", BUNDLED_NAMES)
def test_the_words_of_a_domain_are_found_however_a_name_is_written(domain: str):
    for word in BUNDLED_NAMES[domain].split():
        pascal = {"bigquery": "BigQuery", "github": "GitHub"}.get(word, word.title())
        names = (f"{word}_run", f"run_{word}", f"mcp.{word}.run", f"{word}Run", f"{pascal}.run")
        names += (f"run{pascal}", f"{word.upper()}_RUN")
        for name in names:
            assert domain in load_bundled().domains_named(name), name


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("a zebra and a lion", "zoo"),
        ("Zebras, LIONS", "zoo"),
        ("a zebra, a zebra, a zebra", ""),
        ("a zebra and a cow", ""),
        ("a zebra, a lion and a cow", "zoo"),
        ("a lion that is shared", "zoo"),
        ("zebrafish and lioness", ""),
        ("", ""),
    ],
)
def test_different_whole_words_tell(text: str, domain: str):
    assert SMALL.domain_of(analyse_terms(text)) == domain


@pytest.mark.parametrize(
    ("counted", "domain", "lead"),
    [
        ({}, "", 0),
        ({"a": 1}, "", 0),
        ({"a": 2}, "a", 2),
        ({"b": 3, "a": 2}, "b", 1),
        ({"b": 2, "a": 2}, "", 0),
    ],
)
def test_leading(counted: dict[str, float], domain: str, lead: float):
    assert find_leading(counted) == (domain, lead)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("ark.txt", {"zebra", "lion"}),
        ("deep/in/ARK.TXT", {"zebra", "lion"}),
        ("C:\\barn\\daisy.cow", {"cow"}),
        ("cow", {"cow"}),
        ("arkatxt", set()),
        ("", set()),
        ("/", set()),
    ],
)
def test_files_stand_for_words(name: str, found: set[str]):
    assert set(SMALL.file_terms(name)) == found


@pytest.mark.parametrize(
    ("query", "context", "domain"),
    [
        ("feed it", Context(), ""),
        ("feed it", Context(files=("ark.txt",)), "zoo"),
        ("feed it", Context(files=("a.cow", "b.cow")), ""),
        ("feed the horse", Context(files=("a.cow",)), "farm"),
        ("feed it", Context(signals=("a zebra near", "lions")), "zoo"),
        ("the cow and the horse", Context(files=("ark.txt",), signals=("gnu",)), "farm"),
    ],
)
def test_the_query_goes_before_its_surroundings(query: str, context: Context, domain: str):
    assert find_work(context, analyse(query), SMALL)[0] == domain


def test_the_longer_the_lead_the_surer():
    sure = [
        find_work(Context(), analyse(query), SMALL)[1]
        for query in ("zebra lion cow", "zebra lion", "zebra lion gnu", "zebra lion gnu shared")
    ]
    assert sure == sorted(sure)
    assert 0 < sure[0] < sure[-1] <= 1


def test_every_bundled_file_stands_for_telling_words():
    taxonomy = load_bundled()
    assert taxonomy.domains == ("code", "repo", "infra", "data", "comms", "agents")
    for name in ("Dockerfile", "main.tf", "package.json", "x.py", "dump.sql", "a.ics", "AGENTS.md"):
        assert taxonomy.count(taxonomy.file_terms(name)), name
