"""The rows of an operator's overlay, and the TOML file that they are in (see `overlay.py`)."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from toolscout.contract.fields import Risk
from toolscout.errors import ConfigurationError
from toolscout.tools.documents import MAX_FIELD_CHARS
from toolscout.tools.risk import LEVELS

MAX_FILE_BYTES = 8 << 20

MAX_ROWS = 10_000

MAX_REQUESTS = 16
"""Requests of each kind in one row, as many as count of a tool."""

_HEADER = re.compile(r"^\s*\[\[\s*tool\s*\]\]", re.MULTILINE)
_PLACE = re.compile(r" - at `\$(.*)`$")
_FIELD = re.compile(r"^(\w+)\S*: |unknown field `([^`]*)`$")
"""The field that an error is about."""


class OverlayRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What one row adds to the tools that it is for."""

    name: str | tuple[str, ...]
    """Names; `*` stands for any characters, `?` for one."""
    tenant: str | None = None
    """The tenant whose tools are meant; None for those of all."""
    search_text: str = ""
    """Searched and compared like the beginning of the description."""
    examples: tuple[str, ...] = ()
    """Requests that the tool serves."""
    not_for: tuple[str, ...] = ()
    """Requests that it does not serve: it is not selected for nearly the same, and comes later for
    similar ones."""
    pin: bool = False
    """Whether it is always kept."""
    hide: bool = False
    """Whether it is never selected."""
    risk: Risk | None = None
    """The least risk that it is taken for; a higher one stays."""
    namespace: str | None = None

    @property
    def patterns(self) -> Sequence[str]:
        """The names and patterns."""
        return (self.name,) if isinstance(self.name, str) else self.name


def merge_rows(first: OverlayRow, second: OverlayRow) -> OverlayRow:
    """Return what two rows for one tool come to; of one value the later counts.

    Texts and requests have together the bounds that those of one row have.
    """
    texts = filter(None, (first.search_text, second.search_text))
    risks = [risk for risk in (first.risk, second.risk) if risk is not None]
    return OverlayRow(
        name="",
        search_text=" ".join(texts)[:MAX_FIELD_CHARS],
        examples=(*first.examples, *second.examples)[:MAX_REQUESTS],
        not_for=(*first.not_for, *second.not_for)[:MAX_REQUESTS],
        pin=first.pin or second.pin,
        hide=first.hide or second.hide,
        risk=max(risks, key=LEVELS.index, default=None),
        namespace=second.namespace or first.namespace,
    )


def read_overlay_text(path: Path) -> str:
    """Return what a file of rows says.

    Raises:
        ConfigurationError: it cannot be read, is too long, or is blank, as while it is written.
    """
    try:
        if not path.is_file():  # reading a pipe would wait for its writer
            raise ConfigurationError(f"overlay: there is no file {path}")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ConfigurationError(f"overlay: {path} has more than {MAX_FILE_BYTES >> 20} MiB")
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"overlay: cannot read {path}: {error}") from None
    if not text.strip():
        raise ConfigurationError(f"overlay: {path} is blank; a comment takes all rows away")
    return text


def parse_rows(text: str, file: str) -> list[OverlayRow]:
    """Return the rows of a file with this content.

    Raises:
        ConfigurationError: it has another form; says in which line.
    """
    try:
        content = tomllib.loads(text)
    except RecursionError:
        raise ConfigurationError(f"overlay: {file}: nested too deeply") from None
    except ValueError as error:  # of TOML, or of a number with thousands of digits
        raise ConfigurationError(f"overlay: {file}: {error}") from None
    tables = content.pop("tool", [])
    if content or not isinstance(tables, list):
        wrong = next(iter(content), "tool")
        place = _find_line(text, wrong)
        raise ConfigurationError(f"overlay: {file}: {place}{wrong}: expected [[tool]] tables only")
    if len(tables) > MAX_ROWS:
        raise ConfigurationError(
            f"overlay: {file}: at most {MAX_ROWS:,} [[tool]], got {len(tables):,}"
        )
    rows = []
    for number, table in enumerate(tables):
        try:
            rows.append(_read_row(table))
        except ValueError as error:
            place = _find_place(text, number, len(tables), str(error))
            raise ConfigurationError(f"overlay: {file}: {place}: {error}") from None
    return rows


def _find_line(text: str, key: str) -> str:
    """Return the line of a key that belongs to no row, in front of what is said of it."""
    row = _HEADER.search(text)
    start = row.start() if row else len(text)
    table = re.compile(rf"^\s*\[+\s*{_write_key(key)}[\].]", re.MULTILINE)
    found = _compile_field(key).search(text, 0, start) or table.search(text)
    return "" if found is None else f"{_name_line(text, found.end())}: "


def _write_key(key: str) -> str:
    """Return the regular expression of a key, in quotes or without."""
    return rf"[\"']?{re.escape(key)}[\"']?\s*"


def _compile_field(key: str) -> re.Pattern[str]:
    """Compile what stands where a field of the table before it begins."""
    return re.compile(rf"^\s*(?:\[\s*tool\s*\.\s*)?{_write_key(key)}[\].=]", re.MULTILINE)


def _find_place(text: str, number: int, count: int, error: str) -> str:
    """Return the line of a field in one of several tables, or of the table if it has none of these.

    Where tables have no headers, it is the number of the row.
    """
    headers = list(_HEADER.finditer(text))
    if len(headers) != count:
        return f"row {number + 1}"
    start = headers[number].end()
    end = headers[number + 1].start() if number + 1 < count else len(text)
    field = _FIELD.search(error)
    if field is not None:
        written = _compile_field(field[1] or field[2]).search(text, start, end)
        start = written.end() if written else start
    return _name_line(text, start)


def _name_line(text: str, place: int) -> str:
    """Return the line that has a place of a text, in words."""
    line = text.count("\n", 0, place) + 1
    return f"line {line}"


def _read_row(table: Any) -> OverlayRow:
    """Read a row.

    Raises:
        ValueError: it has another form.
    """
    try:
        row = msgspec.convert(table, OverlayRow)
    except msgspec.ValidationError as error:
        place = _PLACE.search(str(error))
        field = place[1].lstrip(".") if place else ""
        reason = _PLACE.sub("", str(error))
        raise ValueError(f"{field}: {reason}" if field else reason) from None
    for problem in _find_problems(row):
        raise ValueError(problem)
    return row


def _find_problems(row: OverlayRow) -> Iterator[str]:
    if not row.patterns or not all(name.strip() == name != "" for name in row.patterns):
        yield "name: expected the name of a tool, without blanks around it"
    for field in ("tenant", "namespace"):
        value = getattr(row, field)
        if (value is not None and value.strip() != value) or value == "":
            yield f"{field}: expected a name, without blanks around it"
    if row.search_text and not row.search_text.strip():
        yield "search_text: is blank"
    if not msgspec.to_builtins(row).keys() - {"name", "tenant"}:
        yield "adds nothing to these tools"
    if row.pin and row.hide:
        yield "pin and hide exclude each other"
    if len(row.search_text) > MAX_FIELD_CHARS:
        yield f"search_text: at most {MAX_FIELD_CHARS:,} characters, got {len(row.search_text):,}"
    for field in ("examples", "not_for"):
        requests = getattr(row, field)
        if len(requests) > MAX_REQUESTS:
            yield f"{field}: at most {MAX_REQUESTS} requests, got {len(requests)}"
        if not all(map(str.strip, requests)):
            yield f"{field}: a request is blank"
