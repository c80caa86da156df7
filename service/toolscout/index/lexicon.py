"""What an operator adds to the bundled word lists: synonyms and domains, from TOML files."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from toolscout import data
from toolscout.errors import ConfigurationError
from toolscout.index.expand import Synonyms, load_synonym_terms, make_symmetric
from toolscout.text.domains import Taxonomy

MAX_GROUPS = 10_000
"""Groups of synonyms in a file: each is looked at for every word of a query that it holds."""

MAX_GROUP_WORDS = 50


def load_lexicon(
    synonyms: str | Path | None, domains: str | Path | None
) -> tuple[Synonyms | None, Taxonomy | None]:
    """Synonyms and taxonomy of the files that are named; None where none is.

    Raises:
        ConfigurationError: a file cannot be read or has another form; says where.
    """
    return (
        load_synonyms(Path(synonyms)) if synonyms else None,
        load_taxonomy(Path(domains)) if domains else None,
    )


def load_synonyms(path: Path) -> Synonyms:
    """Return the bundled synonyms and those of a file, each word of a group for every other.

    The file has lists of groups, a group being words with blanks between them: `money = ["invoice
    bill", "refund chargeback"]`, in tables or not.

    Raises:
        ConfigurationError: the file cannot be read or has another form; says where.
    """
    groups = list(_list_groups(_read("synonyms", path), path))
    if len(groups) > MAX_GROUPS:
        raise ConfigurationError(
            f"synonyms: {path}: at most {MAX_GROUPS} groups, got {len(groups)}"
        )
    own = make_symmetric(groups)
    bundled = load_synonym_terms()
    terms = bundled.keys() | own.keys()
    return {
        term: tuple(dict.fromkeys((*own.get(term, ()), *bundled.get(term, ())))) for term in terms
    }


def find_labels(path: Path) -> list[str]:
    """Return the keys of a file of synonyms that are read as a word of their only group, in vain.

    A key is a label: nothing is found by it. One with several groups is no word of theirs.

    Raises:
        ConfigurationError: as `load_synonyms`.
    """
    return _list_labels(_read("synonyms", path))


def _list_labels(table: Mapping[str, Any]) -> list[str]:
    labels = []
    for key, value in table.items():
        if isinstance(value, dict):
            labels += _list_labels(value)
        elif len(value) == 1 and key.casefold() not in value[0].casefold().split():
            labels.append(key)
    return labels


def load_taxonomy(path: Path) -> Taxonomy:
    """Return the bundled domains and those of a file; one of the same name takes its place.

    The file has the tables `[signals]` (domain = "words that tell it"), `[names]` (domain = "words
    of a tool's name that tell it alone, for filters"), `[namespaces]` (domain = "servers that are
    of it") and `[files]` (name or ending = "words it stands for"), each of them optional.

    Raises:
        ConfigurationError: the file cannot be read or has another form; says where.
    """
    bundled = data.load("domains")
    own = _read("domains", path)
    for table, entries in own.items():
        if table not in bundled:
            tables = ", ".join(f"[{name}]" for name in bundled)
            raise ConfigurationError(f"domains: {path}: unknown {table}; there are {tables}")
        if not isinstance(entries, dict):
            raise ConfigurationError(f"domains: {path}: {table} must be a table")
        for name, text in entries.items():
            if not isinstance(text, str) or not text.split():
                raise ConfigurationError(
                    f"domains: {path}: {table}.{name} must be a text of words, got {text!r:.60}"
                )
    return Taxonomy(**{table: {**bundled[table], **own.get(table, {})} for table in bundled})


def _read(setting: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{setting}: {path}: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{setting}: cannot read {path}: {error}") from None


def _list_groups(table: Mapping[str, Any], path: Path, above: str = "") -> Iterator[str]:
    """Yield the groups of a table and of those in it; `above` is the key that leads to it."""
    for key, value in table.items():
        where = f"{above}{key}"
        if isinstance(value, dict):
            yield from _list_groups(value, path, where + ".")
            continue
        if not isinstance(value, list):
            raise ConfigurationError(
                f"synonyms: {path}: {where} must be a list of texts, got {value!r:.60}"
            )
        for number, group in enumerate(value):
            if not isinstance(group, str) or not 2 <= len(group.split()) <= MAX_GROUP_WORDS:
                raise ConfigurationError(
                    f"synonyms: {path}: {where}[{number}] must be a text of 2 to "
                    f"{MAX_GROUP_WORDS} words, got {group!r:.60}"
                )
            yield group
