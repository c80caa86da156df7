"""Exact names: every form a tool can be called by, found anywhere in a query.

`normal_cdf` answers to `normalCdf`, `normal-cdf`, `normal cdf` and `stats.normal_cdf`;
`mcp__github__create_issue` also to `create_issue` and `github.create_issue`.

Some tools are named by everyday words. In "add the weather forecast to my list" nobody calls the
tools `add`, `weather_forecast` or `list`, so plain words count as a name for sure only where they
are written like one: alone, quoted, as an identifier, beside "tool" or "call", or, for a single
word, when the catalog hardly uses it otherwise. A full name that is less than sure is still kept
in the answer.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from toolscout.common.spelling import is_one_piece, list_forms, make_key, normalise
from toolscout.text.query import load_word_weights
from toolscout.text.tokens import is_cjk

MAX_RUN = 8
"""Words of a query that are tried together as one name."""

_CJK_RUN = 16
"""Characters of unspaced writing that are tried together as one name."""

_OPENING = 4
"""Letters of a word that are compared before runs of words are tried."""

_UNITS = re.compile(r"[^\W_]+(?:[_\-][^\W_]+)*")
"""A name as it is written: letters and digits, joined by single underscores or hyphens."""

_ASCII_UNITS = re.compile(_UNITS.pattern, re.ASCII)
"""The same for ASCII, at half the cost."""

_PREFIXED = re.compile(r"(?s)^.*(?:__|[.:/])(?=.)")
_JOINTS_BYTES = bytes(code for code in range(128) if not chr(code).isalnum() and code != 10)
_JOINTS = re.compile(r"[\W_]+")
_GLUE = frozenset(("_", "__", "-", ".", ":", "::", "/"))
"""What may stand between the parts of one written name, besides a space between plain words."""

_QUOTES = frozenset("`'\"“”‘’«»「」")
_CALLS = frozenset(
    ("call", "invoke", "run", "use", "execute", "using", "tool", "function", "named")
)


class Mention(msgspec.Struct, frozen=True, gc=False):
    """A tool whose name stands in the query, as `written`; `sure` mentions rank first."""

    row: int
    written: str
    sure: bool
    length: int
    literal: bool = True
    """Written as one identifier or in quotes, not as several words of a sentence."""


class NameIndex:
    """Which tools answer to which written form."""

    __slots__ = ("_bare", "_full", "_has_cjk", "_longest", "_openings")

    def __init__(self, tools: Iterable[Sequence[Sequence[str]]]) -> None:
        """Take, per tool, the `forms` of each of its names, its own first."""
        self._full: dict[str, tuple[int, ...]] = {}
        self._bare: dict[str, tuple[int, ...]] = {}
        self._take(enumerate(tools))

    def with_changes(
        self, moved: Sequence[int], tools: Mapping[int, Sequence[Sequence[str]]]
    ) -> "NameIndex":
        """Return the index of the same tools but for a few.

        `moved` has the new row of each tool, -1 for one that is gone; `tools` are new, by row.
        """
        made = NameIndex(())
        for before, after in ((self._full, made._full), (self._bare, made._bare)):
            for form, owners in before.items():
                if len(owners) == 1:  # as nearly all are
                    if (row := moved[owners[0]]) >= 0:
                        after[form] = (row,)
                elif left := tuple([row for owner in owners if (row := moved[owner]) >= 0]):
                    after[form] = left
        made._take(tools.items())
        return made

    def _take(self, tools: Iterable[tuple[int, Sequence[Sequence[str]]]]) -> None:
        for row, names in tools:
            for full, *bare in names:
                _add(self._full, full, row)
                for form in bare:
                    _add(self._bare, form, row)
        every = [*self._full, *self._bare]
        self._longest = max(map(len, every), default=0)
        # Most words of a query open no name at all; this tells without trying each run.
        self._openings = {form[:_OPENING] for form in every}
        self._has_cjk = any(not form.isascii() and any(map(is_cjk, form)) for form in every)

    def list_forms(self) -> tuple[set[str], dict[str, Any], dict[str, Any], int]:
        """Return the openings of names, full forms, bare ones, and the length of the longest."""
        return self._openings, self._full, self._bare, self._longest

    def find(self, written: str) -> tuple[int, ...]:
        """Tools of one written name: those fully so named, else those so named behind a prefix."""
        return self._full.get(make_key(written)) or self._bare.get(make_key(written), ())

    def mentions(self, text: str, is_rare: Callable[[str], bool]) -> list[Mention]:
        """Tools whose name stands in the text, the most specific first.

        Matches do not overlap: in `create_issue_comment` the tool `create_issue` is not
        mentioned when a tool of the longer name exists. `is_rare` says of a plain word
        whether the catalog hardly uses it.
        """
        units = _ASCII_UNITS if text.isascii() else _UNITS
        spans = [match.span() for match in units.finditer(text)]
        keys = _make_unit_keys(text, spans)
        hits: dict[int, Mention] = {}
        openings = self._openings
        at = 0
        count = len(keys)
        while at < count:
            opening = keys[at]
            if len(opening) < _OPENING:
                opening = "".join(keys[at : at + _OPENING])
            if opening[:_OPENING] in openings or keys[at] in openings:
                at += self._note_mention(text, spans, keys, at, is_rare, hits)
            else:
                at += 1
        if self._has_cjk and not text.isascii():
            for mention in self._find_unspaced(text):
                _keep(hits, mention)
        if len(hits) < 2:
            return list(hits.values())
        return sorted(hits.values(), key=lambda m: (not m.sure, not m.literal, -m.length, m.row))

    def _note_mention(
        self,
        text: str,
        spans: list[tuple[int, int]],
        keys: list[str],
        at: int,
        is_rare: Callable[[str], bool],
        mentions: dict[int, Mention],
    ) -> int:
        """Note the longest name that begins with the unit `at`; returns how many units it took."""
        form = ""
        named = []
        for size, part in enumerate(keys[at : at + MAX_RUN], 1):
            form += part
            if len(form) > self._longest:
                break
            if form in self._full or form in self._bare:
                named.append((size, form))
        for size, form in reversed(named):
            gaps = _find_gaps(text, spans[at : at + size])
            if gaps is None:
                continue
            literal = " " not in gaps
            full = self._full.get(form)
            bare = self._bare.get(form)
            written = text[spans[at][0] : spans[at + size - 1][1]]
            sure = _is_written_as_name(text, spans, keys, at, size)
            if not sure and size == 1 and full is not None:
                sure = is_rare(form) and form not in load_word_weights()
            if not sure and size > 1 and literal:
                sure = any(part not in load_word_weights() for part in keys[at : at + size])
            for row in full or ():
                _keep(mentions, Mention(row, written, sure, len(form), literal))
            if sure and (full is None or size > 1):
                for row in bare or ():
                    _keep(mentions, Mention(row, written, sure, len(form), literal))
            return size
        return 1

    def _find_unspaced(self, text: str) -> Iterable[Mention]:
        """Names inside writing that puts no space between words."""
        folded = make_key(text)
        for start, char in enumerate(folded):
            if not is_cjk(char):
                continue
            for length in range(min(_CJK_RUN, len(folded) - start), 1, -1):
                written = folded[start : start + length]
                owners = self._full.get(written)
                if owners:
                    for row in owners:
                        yield Mention(row, written, True, length)
                    break

    def __len__(self) -> int:
        return len(self._full) + len(self._bare)


def find_mentions(text: str, names: Sequence[str]) -> list[Mention]:
    """Mentions of tools that are not indexed: only names that can stand in the text are.

    Without an index no plain word is known to be rare.
    """
    possible = set(list_possible_forms(text))
    unspaced = any(map(is_cjk, text))
    bare = [name if is_one_piece(name) else _PREFIXED.sub("", name) for name in names]
    rows = [
        row
        for row, (full, last) in enumerate(zip(_make_keys(names), _make_keys(bare), strict=True))
        if full in possible or last in possible or (unspaced and not full.isascii())
    ]
    written = {row: (own_forms,) for row in rows if (own_forms := list_forms(names[row]))}
    mentions = NameIndex(written.values()).mentions(text, lambda _: False)
    places = list(written)
    return [msgspec.structs.replace(mention, row=places[mention.row]) for mention in mentions]


def list_possible_forms(text: str) -> list[str]:
    """Return what tools may be called by in a text: its runs of words, each as one `key`."""
    keys = [make_key(match.group()) for match in _UNITS.finditer(text)]
    return [
        "".join(keys[start : start + size])
        for start in range(len(keys))
        for size in range(1, min(MAX_RUN, len(keys) - start) + 1)
    ]


def add_whole_name(mentions: list[Mention], pattern: str, rows: Mapping[str, int]) -> list[Mention]:
    """Return the mentions of a pattern that may be a name to the letter."""
    name = pattern if pattern in rows else pattern.strip()
    row = rows.get(name)
    if row is None:
        return mentions
    others = [mention for mention in mentions if mention.row != row]
    return [Mention(row, name, True, len(name)), *others]


def _make_keys(names: Sequence[str]) -> list[str]:
    """Return the `key` of each name, made for all of them at once where they are ASCII."""
    joined = "\n".join(names)
    if joined.isascii() and joined.count("\n") == len(names) - 1:
        return joined.lower().encode().translate(None, _JOINTS_BYTES).decode().split("\n")
    return [make_key(normalise(name)) for name in names]


def _add(table: dict[str, tuple[int, ...]], form: str, row: int) -> None:
    owners = table.get(form)
    if owners is None:
        table[form] = (row,)
    elif row not in owners:
        table[form] = tuple(sorted((*owners, row)))


def _keep(mentions: dict[int, Mention], mention: Mention) -> None:
    """Of two mentions of one tool the surer, longer one stands."""
    earlier = mentions.get(mention.row)
    if earlier is None or (mention.sure, mention.length) > (earlier.sure, earlier.length):
        mentions[mention.row] = mention


def _make_unit_keys(text: str, spans: list[tuple[int, int]]) -> list[str]:
    """Return the `key` of each unit; of ASCII, case is folded once for all of them."""
    if not text.isascii():
        return [make_key(text[start:end]) for start, end in spans]
    lower = text.lower()
    units = [lower[start:end] for start, end in spans]
    return [unit if unit.isalnum() else _JOINTS.sub("", unit) for unit in units]


def _find_gaps(text: str, spans: list[tuple[int, int]]) -> list[str] | None:
    """Return what stands between the units of a run; None where they cannot be one name."""
    gaps: list[str] = []
    for before, after in pairwise(spans):
        gap = text[before[1] : after[0]]
        if gap == " ":
            # An identifier is a name of its own, whatever word follows it.
            if not (_is_plain(text, before) and _is_plain(text, after)):
                return None
        elif gap not in _GLUE:
            return None
        gaps.append(gap)
    return gaps


def _is_plain(text: str, span: tuple[int, int]) -> bool:
    """Whether a unit is an ordinary word or number: no separator, mix or inner capital."""
    word = text[span[0] : span[1]]
    return word.isdigit() or (word.isalpha() and (word[1:] == word[1:].lower() or word.isupper()))


def _is_written_as_name(
    text: str, spans: list[tuple[int, int]], keys: list[str], at: int, size: int
) -> bool:
    """Whether a run of units is written the way names are, not the way prose is."""
    if size == len(keys):
        return True
    first = spans[at][0]
    last = spans[at + size - 1][1]
    before = text[first - 1 : first]
    after = text[last : last + 1]
    if before and after and before in _QUOTES and after in _QUOTES:
        return True
    if before and before in "._/:" and first > 1 and not text[first - 2].isspace():
        return True
    if size > 1:
        return False
    if not _is_plain(text, spans[at]):
        return True
    previous = keys[at - 1] if at else ""
    following = keys[at + 1] if at + 1 < len(keys) else ""
    return previous in _CALLS or following in ("tool", "function")
