"""YAML as its version 1.2 reads it."""

import pytest

from toolscout.errors import InvalidJson
from toolscout.files.yaml_text import read_yaml


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("NO", "NO"),
        ("on", "on"),
        ("yes", "yes"),
        ("true", True),
        ("~", None),
        ("", None),
        ("2024-01-01", "2024-01-01"),
        ("12:30:45", "12:30:45"),
        ("010", 10),
        ("0o17", 15),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("1e3", 1000.0),
        ("'1'", "1"),
        ("=", "="),
        ("!!timestamp 2024-01-01", "2024-01-01"),
        ("9" * 5_000, "9" * 5_000),
    ],
)
def test_a_plain_word_means_what_version_1_2_says(written: str, value):
    assert read_yaml(f"a: {written}\n", "it") == {"a": value}


def test_keys_are_the_texts_that_stand_there():
    assert read_yaml("{on: 1, 2024: 2, true: 3, ~: 4}", "it") == {
        "on": 1,
        "2024": 2,
        "true": 3,
        "~": 4,
    }


@pytest.mark.parametrize(
    "written", ["? [a]\n: b", "a: [1", "!!set {a, b}", "!!python/object:os.x {}", "[" * 20_000]
)
def test_what_is_no_plain_value_is_refused_with_its_place(written: str):
    with pytest.raises(InvalidJson, match=r"^it.*: not valid YAML: "):
        read_yaml(written, "it")


BOMBS = {
    "deep": "- " * 100_000 + "a",
    "deep in brackets": "[" * 100_000,
    "aliases": "a0: &a0 x\n"
    + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)),
    "merges": "a0: &a0 {x: 1}\n"
    + "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}\n" for n in range(1, 12)),
    "a circle": "a: &a {b: *a}",
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_what_has_no_end_is_refused_before_it_is_composed(text: str):
    with pytest.raises(InvalidJson):
        read_yaml(text, "it")


def test_numbers_that_json_has_not_are_texts():
    assert read_yaml("a: [.inf, 1e999, .nan]", "it") == {"a": [".inf", "1e999", ".nan"]}
