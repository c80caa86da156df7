"""An operator's words for tools that belong to somebody else, from a TOML file.

Each `[[tool]]` says by name or pattern which tools it is for, of one tenant or of all, and what it
adds: words to find them by, requests that they serve or do not, a pin, a risk. It changes how tools
are ranked and filtered. A model never sees its words, and no digest changes.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cached_property, reduce
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from toolscout.common.lru import Lru
from toolscout.contract.fields import Risk
from toolscout.contract.tools import Tool
from toolscout.text.domains import Taxonomy
from toolscout.text.tokens import analyse_terms
from toolscout.tools.documents import Document, read_at
from toolscout.tools.overlay_rows import (
    OverlayRow,
    merge_rows,
    parse_rows,
    read_overlay_text,
)
from toolscout.tools.risk import LEVELS
from toolscout.tools.traits import read_traits

MAX_SHOWN = 16
"""Names and patterns that explain why a tool is adjusted."""

NAMES_KEPT = 65_536
"""Names of tools whose rows are remembered."""

_WILD = re.compile(r"[*?]")
_encode = msgspec.json.Encoder().encode


class Adjustment(msgspec.Struct, frozen=True):
    """What all rows for one tool come to."""

    row: OverlayRow
    numbers: tuple[int, ...]
    """The rows, from 1 on."""
    written: tuple[str, ...]
    """The names and patterns of them that fit the tool, at most `MAX_SHOWN`."""
    digest: bytes

    def adjust(self, tool: Tool, taxonomy: Taxonomy) -> Tool:
        """Return a tool as it is ranked and filtered."""
        row = self.row
        listed = tool.examples if isinstance(tool.examples, list | tuple) else ()
        return msgspec.structs.replace(
            tool,
            keywords=(*(tool.keywords or ()), *filter(None, (row.search_text,))) or None,
            # The operator's first: what counts of a tool is bounded.
            examples=(*row.examples, *listed) or None,
            namespace=row.namespace or tool.namespace,
            status="unavailable" if row.hide else tool.status,
            risk=self.raise_risk(read_traits(tool, taxonomy).risk) if row.risk else tool.risk,
        )

    def raise_risk(self, risk: Risk) -> Risk:
        """Return the risk that a tool is taken for; none is lowered."""
        return max(risk, self.row.risk or risk, key=LEVELS.index)

    def read(self, adjusted: Tool, place: int) -> Document:
        """Collect the text of an adjusted tool; `place` is where errors say it stood.

        Raises:
            InvalidJson: its definition or parameters are not valid JSON, or nested too deeply.
        """
        document = read_at(adjusted, place)
        if not self.row.search_text:
            return document
        purpose = f"{self.row.search_text} {document.purpose}"
        return msgspec.structs.replace(document, purpose=purpose)


NO_ROW = OverlayRow(name="")

NumberedRows = Sequence[tuple[int, OverlayRow]]
"""Rows with their numbers in the file, from 1 on."""


class FoundRow(NamedTuple):
    """A row that is for a tool."""

    number: int
    row: OverlayRow
    written: str
    """The name or pattern of it that fits."""


class _RowIndex:
    """Finds the rows that are for a tool.

    Of thousands of patterns those are tried whose longest run of letters the name has: RE2 finds
    these runs all at once, and takes a thousand times as long for the patterns themselves.
    """

    def __init__(self, rows: NumberedRows) -> None:
        self.digest = sha256(_encode(rows)).digest()
        self.named: dict[str, list[FoundRow]] = {}
        """The rows by the names that are no patterns."""
        self._patterns: list[FoundRow] = []
        """Those with a run of letters, in the order of `_runs`."""
        self._others: list[FoundRow] = []
        runs: list[str] = []
        for number, row in rows:
            for written in row.patterns:
                found = FoundRow(number, row, written)
                run = max(_WILD.split(written), key=len)
                if not is_pattern(written):
                    self.named.setdefault(written, []).append(found)
                elif run:
                    self._patterns.append(found)
                    runs.append(run)
                else:
                    self._others.append(found)
        self._runs = _compile_runs(runs) if runs else None

    def find(self, name: str) -> Iterator[FoundRow]:
        """Yield the rows for a tool; one of several patterns may come more than once."""
        yield from self.named.get(name, ())
        numbers = (self._runs.Match(name) or ()) if self._runs else ()
        for found in (*(self._patterns[at] for at in numbers), *self._others):
            if _matches(name, found.written):
                yield found


class TenantOverlay:
    """The rows that hold for one tenant: those for all, and its own."""

    def __init__(self, indexes: Sequence[_RowIndex]) -> None:
        self._indexes = indexes
        self._found: Lru[str, tuple[Adjustment | None]] = Lru(NAMES_KEPT)
        digests = b"".join(index.digest for index in indexes)
        self.digest = sha256(digests).hexdigest() if digests else ""
        """Empty without a row."""

    def find(self, name: str) -> Adjustment | None:
        """Return what the rows for a tool come to; None if there is none."""
        if not self._indexes:
            return None
        known = self._found.get(name)
        if known is None:
            known = (self._merge(name),)
            self._found.put(name, known)
        return known[0]

    @cached_property
    def _terms(self) -> list[tuple[str, frozenset[str], bool]]:
        """Of each tool that a row names its name, the terms to find it by, whether it is pinned."""
        return [
            (name, frozenset(analyse_terms(" ".join((row.search_text, *row.examples)))), row.pin)
            for index in self._indexes
            for name, found in index.named.items()
            for _, row, _ in found
        ]

    def list_named(self, terms: Collection[str]) -> list[str]:
        """Return the tools that rows name, no pattern, if they are pinned or have a term."""
        return [name for name, own, is_kept in self._terms if is_kept or not own.isdisjoint(terms)]

    def _merge(self, name: str) -> Adjustment | None:
        found = sorted({one for index in self._indexes for one in index.find(name)}, key=_order)
        if not found:
            return None
        rows = {one.number: one.row for one in found}
        row = reduce(merge_rows, rows.values(), NO_ROW)
        written = tuple(dict.fromkeys(one.written for one in found))[:MAX_SHOWN]
        return Adjustment(row, tuple(rows), written, sha256(_encode(row)).digest())

    def find_row(self, name: str) -> OverlayRow:
        """Return all rows for a tool merged into one; without any, a row that adds nothing."""
        found = self.find(name)
        return NO_ROW if found is None else found.row


NO_ROWS = TenantOverlay(())


class Overlay:
    """The rows of a file."""

    def __init__(self, rows: Sequence[OverlayRow]) -> None:
        self.rows = rows
        self._own: dict[str, list[tuple[int, OverlayRow]]] = {}
        """The rows of single tenants."""
        common: list[tuple[int, OverlayRow]] = []
        for number, row in enumerate(rows, 1):
            own = common if row.tenant is None else self._own.setdefault(row.tenant, [])
            own.append((number, row))
        self._common = [_RowIndex(common)] if common else []
        self._of: dict[str | None, TenantOverlay] = {}

    def of(self, tenant: str) -> TenantOverlay:
        """Return the rows that hold for a tenant."""
        own = self._own.get(tenant)
        known = tenant if own else None  # as everybody else
        if known not in self._of:
            indexes = [*self._common, *([_RowIndex(own)] if own else [])]
            self._of[known] = TenantOverlay(indexes)
        return self._of[known]

    def narrow(self, tenant: str) -> "Overlay":
        """Return the rows that hold for a tenant, as those for everybody."""
        kept = [row for row in self.rows if row.tenant in (None, tenant)]
        return Overlay([msgspec.structs.replace(row, tenant=None) for row in kept])

    def explain_unused(self, names: Iterable[str]) -> list[str]:
        """Return a line about each row that is for none of these tools, whatever its tenant."""
        every = list(enumerate(self.rows, 1))
        index = _RowIndex(every)
        used = {found.number for name in names for found in index.find(name)}
        return [
            f"row {number}: no tool is called {' or '.join(row.patterns)}"
            for number, row in every
            if number not in used
        ]


NO_OVERLAY = Overlay(())


def is_pattern(name: str) -> bool:
    """Whether a name of a row stands for several."""
    return "*" in name or "?" in name


def _matches(name: str, pattern: str) -> bool:
    """Whether a name fits a pattern, in which `[` stands for itself."""
    return fnmatchcase(name, pattern.replace("[", "[[]"))


def _order(found: FoundRow) -> tuple[int, str]:
    return found.number, found.written


def _compile_runs(runs: Sequence[str]) -> Any:
    """Return a set that finds which of these runs occur in a name."""
    import re2  # the client, which reads no overlay, is installed without it

    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20  # thousands of them
    found = re2.Set.SearchSet(options)
    for run in runs:
        found.Add(re2.escape(run))
    found.Compile()
    return found


def read_overlay(path: Path) -> Overlay:
    """Return the overlay of a file.

    Raises:
        ConfigurationError: it cannot be read, or has another form; says in which line.
    """
    return parse_overlay(read_overlay_text(path), str(path))


def parse_overlay(text: str, file: str) -> Overlay:
    """Return the overlay of a file with this content.

    Raises:
        ConfigurationError: it has another form; says in which line.
    """
    return Overlay(parse_rows(text, file))
