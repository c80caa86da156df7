"""Classify the risk of a tool: one rule for client and service.

The risk follows from MCP annotations, else from the first verb of the name or of the
description, by the table in `data/risk.toml`. Many verbs are nouns as well, so a name such as
`view_delete` is judged by its description, too, and the worse of the two counts. Without a known
verb a tool counts as `write_remote` unless its server has another default, so that a limit on
risk errs on the safe side.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, get_args

from toolscout import data
from toolscout.common.spelling import find_namespace, find_prefix
from toolscout.contract.fields import Risk
from toolscout.tools.shapes import as_mapping, read_texts

LEVELS: tuple[Risk, ...] = get_args(Risk)
"""From harmless to destructive."""

PURPOSE_CHARS = 160
"""Characters of a description that are read: a verb or its object stands at the beginning."""

_VERB_WITHIN = 3
"""Words of a description in which its verb is searched: "This tool deletes"."""

_OBJECT_WITHIN = 8
"""Words of a description in which the object of its verb is searched."""

_KINDS = ("read_only", "write", "write_remote", "destructive")
_JOINED = frozenset(("and", "or"))
"""Words between two verbs of a name, of which the worse one counts: `search_and_replace`."""

_TRAILING = frozenset(("all", "by", "exists", "id", "ids", "if", "v"))
"""Words at the end of a name that say which one is meant, or which version."""

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")

_Endings = tuple[tuple[str, tuple[str, ...]], ...]

_ENDINGS: _Endings = (
    ("", ("",)),
    ("s", ("",)),
    ("es", ("", "e")),
    ("ies", ("y",)),
    ("d", ("",)),
    ("ed", ("", "e")),
    ("ied", ("y",)),
    ("ing", ("", "e")),
    ("er", ("", "e")),
    ("ion", ("", "e")),
    ("ation", ("", "e", "ate")),
    ("ification", ("ify",)),
    ("al", ("", "e")),
    ("ment", ("",)),
)
"""Endings of a verb's forms, and their replacements in the infinitive."""

_SPEAKING_ENDINGS = tuple(row for row in _ENDINGS if row[0] in ("", "s", "es", "ies", "ing"))
"""Endings of a verb that says what a tool does: "deletes", but neither "deleted" nor "deletion"."""

_ARTICLES = frozenset(("a", "an", "the"))
_OF_NOUNS = _ARTICLES | {"of"}
"""Words behind which a verb is a noun: "the update of a price"."""


def judge_risk(
    name: str,
    description: str,
    annotations: Any,
    *,
    is_elsewhere: bool,
    default: Risk = "write_remote",
) -> Risk:
    """Judge a tool by its name, its description and the hints of MCP, else by a default.

    `is_elsewhere`: the tool belongs to a server, so its writes are remote.
    """
    writes = False
    if isinstance(annotations, Mapping):
        hinted = _judge_hints(annotations, is_elsewhere=is_elsewhere)
        if hinted is not None:
            return hinted
        writes = annotations.get("readOnlyHint") is False  # whatever its words say
    level = _judge_words(name, description[:PURPOSE_CHARS], is_elsewhere=is_elsewhere) or default
    if level == "read_only" and writes:
        return "write_remote" if default == "read_only" else default
    return level


def risk_of(tool: Any) -> Risk:
    """Return the risk of a tool of any shape."""
    fields = as_mapping(tool)
    level = fields.get("risk")
    if level in LEVELS:
        return level  # type: ignore[no-any-return]
    name, description = read_texts(tool)
    elsewhere = bool(fields.get("namespace") or find_namespace(name))
    return judge_risk(name, description, fields.get("annotations"), is_elsewhere=elsewhere)


def is_annotated(annotations: Any) -> bool:
    """Return whether hints of MCP decide a tool's risk, so that its words don't."""
    if not isinstance(annotations, Mapping):
        return False
    return _judge_hints(annotations, is_elsewhere=True) is not None


def describe_inferred(levels: Collection[Risk]) -> str:
    """Return in a line how many tools have no annotations, and what their words say."""
    counts = Counter(levels)
    listed = ", ".join(f"{counts[level]:,} {level}" for level in LEVELS if counts[level])
    return f"{len(levels):,} without annotations; by name and description: {listed}"


def requires_schema(level: Risk) -> bool:
    """Return whether a model must have read the whole schema before it may call the tool."""
    return level in ("write_remote", "destructive")


def requires_confirmation(level: Risk) -> bool:
    """Return whether a person should be asked before the tool is called."""
    return level == "destructive"


def find_verb_kind(name: str) -> str | None:
    """Return the kind of a name's first verb: `read_only`, `write`, `write_remote`, …."""
    kinds = _load_verbs().verbs
    return next((kinds[word] for word in _split_known_words(name) if word in kinds), None)


def _judge_hints(hints: Mapping[str, Any], *, is_elsewhere: bool) -> Risk | None:
    """Return the risk by MCP hints; None if they do not decide it."""
    if hints.get("readOnlyHint") is True:
        return "read_only"
    if hints.get("destructiveHint") is True:
        return "destructive"
    if hints.get("destructiveHint") is False:
        outside = hints.get("openWorldHint")
        if outside is False:
            return "write_local"
        if outside is True or is_elsewhere:
            return "write_remote"
    return None


class _Table(NamedTuple):
    """The words of `data/risk.toml`."""

    verbs: dict[str, str]
    """Kinds of the verbs by which a name is judged."""
    all_verbs: dict[str, str]
    """These, and those that count only where a description has them as its verb."""
    nouns: frozenset[str]
    """Verbs of reading that are nouns as well."""
    local: frozenset[str]
    """Things on the user's own machine."""


def _judge_words(name: str, description: str, *, is_elsewhere: bool) -> Risk | None:
    """Return the risk by the verbs of the name, else by the description's first verb."""
    kinds = _load_verbs().verbs
    local = _load_verbs().local
    in_name = list(_split_known_words(name))
    in_text = list(_split_known_words(description))
    verb_kinds = [kinds[word] for word in in_name if word in kinds]
    if verb_kinds:
        first = verb_kinds[0]
        if not _JOINED.isdisjoint(in_name):
            every = _load_verbs().all_verbs
            behind = [word for before, word in pairwise(in_name) if before in _JOINED]
            first = _find_worst([*verb_kinds, *(every[word] for word in behind if word in every)])
        own = find_verb_kind(name[len(find_prefix(name)) :]) or first
        kind = _find_worst([first, own, *_list_other_kinds(first, name, description)])
    else:
        verb_kinds = [kinds[word] for word in in_text[:_VERB_WITHIN] if word in kinds]
        if not verb_kinds:
            return None
        kind = verb_kinds[0]
    if kind != "write":
        return kind  # type: ignore[return-value]
    if not local.isdisjoint(in_name):
        return "write_local"
    if is_elsewhere or local.isdisjoint(in_text[:_OBJECT_WITHIN]):
        return "write_remote"
    return "write_local"


def _find_worst(kinds: Iterable[str]) -> str:
    return max(kinds, key=_KINDS.index)


def _list_other_kinds(first: str, name: str, description: str) -> list[str]:
    """Return the kinds of verbs that count beside a name's first one, which may be a noun.

    The description decides: `list_deleted_files` lists, whatever else its name says. Where it has
    no verb, or only repeats the name, its last word decides: `search_index_drop` drops.
    """
    table = _load_verbs()
    kinds = [table.all_verbs[word] for word in _split_known_words(name) if word in table.all_verbs]
    told, is_at_start = _find_told_kind(description)
    last = table.all_verbs.get(_find_last_word(name), first)
    if told == "read_only" and set(_split_known_words(description)) <= set(
        _split_known_words(name)
    ):
        told = None  # "View delete" says no more than the name
    if told == "read_only" and _has_leading_noun(name, description):
        return ["destructive"] if last == "destructive" else []
    if told is None:
        is_meant = last == "destructive" or not table.nouns.isdisjoint(_split_known_words(name))
        return [last] if is_meant else []
    if _find_worst([first, told]) == first:
        return []
    if any(_find_worst([first, kind]) != first for kind in kinds):
        return [told, *kinds]
    is_plain = told == "destructive" and is_at_start and first == "read_only"
    return [told] if is_plain else []


def _find_last_word(name: str) -> str:
    """Return the last word of a name that is not about which one: `delete` of `delete_by_id`."""
    words: list[str] = [word.lower() for word in _WORD.findall(name)]
    while len(words) > 1 and words[-1] in _TRAILING:
        words.pop()
    return words[-1]


def _has_leading_noun(name: str, description: str) -> bool:
    """Return whether a description begins with the noun that a name begins with.

    "View: delete a saved view" of `view_delete` does not view; "Preview a reset" previews, and
    "Status of a reset" is a status.
    """
    own = name[len(find_prefix(name)) :] or name
    in_name = list(_split_known_words(own))
    in_text = list(_split_known_words(description))
    is_noun = in_text[:1] == in_name[:1] and in_name[0] in _load_verbs().nouns
    return is_noun and _OF_NOUNS.isdisjoint(in_text[1:2])


def _find_told_kind(description: str) -> tuple[str | None, bool]:
    """Return the kind of the verb that says what a tool does, and whether it is the first word."""
    words = [word.lower() for word in _WORD.findall(description)]
    before = ["", *words]
    behind = [*words[1:], ""]
    for place, word in enumerate(words[:_OBJECT_WITHIN]):
        kind = _load_verbs().all_verbs.get(_find_infinitive(word, _SPEAKING_ENDINGS))
        if kind is None or before[place] in _ARTICLES:
            continue
        if kind == "read_only":
            # Further on it is a noun: "Take somebody off a list".
            return (kind if place < _VERB_WITHIN else None), place == 0
        if behind[place] != "of":
            return kind, place == 0
    return None, False


def _split_known_words(text: str) -> Iterator[str]:
    """Return words in lower case, with forms of known verbs as their infinitives."""
    for word in _WORD.findall(text):
        yield _find_infinitive(word.lower())


@lru_cache(maxsize=8_192)
def _find_infinitive(word: str, endings: _Endings = _ENDINGS) -> str:
    """Return the infinitive of `deletion`, `wiped` or `uninstalling`; else the word."""
    verbs = _load_verbs().all_verbs
    for ending, replacements in endings:
        if not word.endswith(ending):
            continue
        stem = word.removesuffix(ending)
        doubled = len(stem) > 2 and stem[-1] == stem[-2]
        for verb in (*(stem + letters for letters in replacements), stem[:-1] if doubled else ""):
            if verb in verbs:
                return verb
    return word


@cache
def _load_verbs() -> _Table:
    """Return the table of verbs and nouns."""
    table = data.load("risk")
    verbs = {verb: kind for kind, named in table["verbs"].items() for verb in named.split()}
    described = {verb: kind for kind, told in table["described"].items() for verb in told.split()}
    nouns = table["read_only"]["nouns"]
    local = table["local"]["nouns"]
    return _Table(verbs, verbs | described, frozenset(nouns.split()), frozenset(local.split()))
