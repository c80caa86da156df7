"""The tables of catalogs that are kept tool by tool, and which tools a question brings from them.

The few that can be its answer: the nearest by meaning, those with its rarest words, and those that
it names. What they are ranked by stays elsewhere.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from math import log
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from toolscout.common.toml_files import load_toml
from toolscout.contract.requests import Filters
from toolscout.errors import FieldError, InvalidRequest
from toolscout.state.postgres import CONNECTIONS, PostgresStore, swap
from toolscout.state.registry import Place
from toolscout.state.store import Changed, StateStore, StoreRefused
from toolscout.tools.filters import labels_of

T = TypeVar("T")

DEPTH = 100
"""Candidates by meaning and by words, each. With 200 recall is .01 higher, and a search takes half
as long again."""

MAX_NAMED = 30
"""Candidates that a question names; the longest names come first."""

MAX_NAMED_PER_FORM = 10
"""Candidates that a question names in one form of a name."""

MOST_HITS = 1_000
"""Tools with one of a question's rare words that are compared; more common words bring none."""

CHANGES = CONNECTIONS // 2
"""Changes at once; the other connections are for everybody's short questions."""

WRITE_S = 30.0
"""Seconds for a change, of 1,000 tools at most: some 2, most of it for the index of vectors."""

ANY = ""
"""A term that every tool has."""

IN_NAME = "="
"""Before a term of a tool's name."""

NAME_WORTH = 1.5
"""What a word counts in a name, beside its hit anywhere."""

_LIMITS = {"depth": DEPTH, "hits": MOST_HITS, "of_form": MAX_NAMED_PER_FORM}
_QUERY: dict[str, str] = load_toml(Path(__file__).with_suffix(".toml"))
_OF_CATALOG = "tenant = %(tenant)s AND catalog = %(catalog)s"
_OF_CATALOG_BY_WORD = "tenant || '' = %(tenant)s AND catalog || '' = %(catalog)s"


def refuse_field(field: str, message: str) -> InvalidRequest:
    """Return the error of a field that is wrong."""
    return InvalidRequest(f"{field}: {message}", (FieldError(field, message),))


class Row(NamedTuple):
    """A tool as it is kept."""

    name: str
    digest: bytes
    build: str
    """What compiled it."""
    wire: bytes
    """The tool as it was sent, in JSON."""
    compiled: bytes
    vector: Sequence[float] = ()
    terms: Sequence[str] = ()
    """Its terms, with `ANY`, and those of its name with `IN_NAME` before them."""
    forms: Sequence[str] = ()
    """What it can be called by."""
    labels: Sequence[str] = ()
    """What filters look at."""


class CandidateQuery(NamedTuple):
    """What a question looks for."""

    vector: Callable[[Collection[str]], Sequence[float] | None] = lambda _: None
    """Returns what is near to it in meaning, for those of its terms that any tool has."""
    terms: Mapping[str, float] = {}
    """Terms with their weights."""
    related: Iterable[str] = ()
    """Further terms that the ranking wants the frequencies of."""
    forms: Sequence[str] = ()
    """What a tool may be called by in it."""
    names: Sequence[str] = ()
    """Tools that are wanted in any case."""
    filters: Sequence[Filters | None] = ()


class Tables:
    """The tools of such catalogs.

    Every method raises `StoreUnavailable` when the database cannot serve it.
    """

    def __init__(self, store: StateStore, dimension: int, build: str) -> None:
        """Keep vectors of one dimension."""
        self.build = build
        """What compiles tools here; those of another are compiled anew until written again."""
        self._state = store
        self._dimension = dimension
        self._is_made = False
        self._searches = asyncio.Semaphore(CONNECTIONS)
        self._changes = asyncio.Semaphore(CHANGES)
        self._changing = WeakValueDictionary[str, asyncio.Lock]()
        """One change of a tenant at a time, so that none fills the places of the others."""

    @property
    def _store(self) -> PostgresStore:
        """The store, if it is in PostgreSQL.

        Raises:
            InvalidRequest: it is elsewhere, so that such a catalog cannot be made.
        """
        if not isinstance(self._state, PostgresStore):
            raise refuse_field(
                "keep", "postgres needs store = postgres://… with the extension vector"
            )
        return self._state

    async def make(self) -> None:
        """Make the tables, unless they are there.

        Raises:
            StoreUnavailable: the database has no extension `vector`, or the user no right to it.
        """

        async def make(cursor: Any) -> None:
            for query in ("lock_making", "make"):
                await cursor.execute(_QUERY[query])
            await cursor.execute(_QUERY["make_index"].format(dimension=self._dimension))

        if not self._is_made:
            await self._run_together(make)
            self._is_made = True

    async def write(
        self,
        place: Place,
        rows: Sequence[Row],
        remove: Sequence[str],
        expected: bytes | None,
        fresh: Callable[[int], bytes],
        *,
        anew: bool = False,
    ) -> bytes | None:
        """Add, replace and remove tools, or replace all, together with the record of the catalog.

        What is there already, as the same build compiled it, is not written again. `fresh` makes
        the new record of the number of tools.

        Returns:
            The new record; None where nothing has changed, the record neither.

        Raises:
            Changed: the record is another one than was expected.
        """
        names = [*(row.name for row in rows), *drop_nul(remove)]
        located = place._asdict()

        async def write(cursor: Any) -> bytes | None:
            await cursor.execute(_QUERY["lock"], located)
            for query in ("drop", "drop_counts") if anew else ():
                await cursor.execute(_QUERY[query], located)
            await cursor.execute(_QUERY["present"], located | {"names": names})
            present = {name: (digest, build) for name, digest, build in await cursor.fetchall()}
            new = [row for row in rows if present.get(row.name) != (row.digest, row.build)]
            gone = present.keys() & {*remove, *(row.name for row in new)}
            await cursor.execute(_QUERY["remove"], located | {"names": list(gone)})
            if new:
                inserted = [
                    located | row._asdict() | {"vector": _write_vector(row.vector)} for row in new
                ]
                await cursor.executemany(_QUERY["insert"], inserted)
                counts = Counter(term for row in new for term in row.terms)
                added = {"terms": list(counts), "added": list(counts.values())}
                await cursor.execute(_QUERY["count_terms"], located | added)
            await cursor.execute(_QUERY["frequencies"], located | {"terms": [ANY]})
            counted = await cursor.fetchone()
            value = fresh(0 if counted is None else int(counted[1]))
            if not (new or gone or anew):
                await cursor.execute(_QUERY["record"], {"key": place.key})
                if await cursor.fetchone() != (expected,):
                    raise Changed
                return None
            if not await swap(cursor, place.key, expected, value, None):
                raise Changed
            return value

        return await self._run_together(write, place.tenant)

    async def drop(self, place: Place, record: bytes | None = None) -> None:
        """Remove a catalog's tools, and its record if that is given.

        Raises:
            Changed: the record is another one.
        """

        async def drop(cursor: Any) -> None:
            for query in ("lock", "drop", "drop_counts"):
                await cursor.execute(_QUERY[query], place._asdict())
            if record is not None and not await swap(cursor, place.key, record, None, None):
                raise Changed

        await self._run_together(drop, place.tenant)

    async def _run_together(self, action: Callable[[Any], Awaitable[T]], tenant: str = "") -> T:
        """Run an action whose changes are all made, or none of them."""

        async def run(connection: Any) -> T:
            async with connection.transaction(), connection.cursor() as cursor:
                return await action(cursor)

        turn = self._changing.setdefault(tenant, asyncio.Lock())
        try:
            async with asyncio.timeout(WRITE_S), turn, self._changes:
                return await self._store.run(run, within_s=WRITE_S)
        except TimeoutError:
            raise StoreRefused("postgres: other changes took too long") from None

    async def find_candidates(
        self, place: Place, query: CandidateQuery
    ) -> tuple[dict[str, bytes], dict[str, int]]:
        """Return the candidates for a question, by name their digests, and frequencies of terms.

        The frequency of `ANY` is the number of tools.
        """
        counting = place._asdict() | {"terms": [ANY, *query.terms, *query.related]}
        where, filtering = _write_condition(query.filters)
        by_word = where.replace(_OF_CATALOG, _OF_CATALOG_BY_WORD)
        near_by = _QUERY["near"].format(where=where, by_word=by_word, dimension=self._dimension)
        fixed = {
            **place._asdict(),
            **filtering,
            **_LIMITS,
            "forms": sorted(drop_nul(dict.fromkeys(query.forms)), key=len, reverse=True),
            "names": drop_nul(query.names),
            "named": MAX_NAMED + MAX_NAMED_PER_FORM * len(query.names),
        }

        async def find(connection: Any) -> tuple[dict[str, bytes], dict[str, int]]:
            async with connection.transaction():
                counted = await connection.execute(_QUERY["frequencies"], counting, binary=True)
                frequencies: dict[str, int] = dict(await counted.fetchall())
                rare = _find_rarest(query.terms, frequencies)
                vector = query.vector(frequencies.keys())
                further = {
                    "vector": _write_vector(vector or [0.0] * self._dimension),
                    "similar": DEPTH if vector else 0,
                    "rare": list(rare),
                    "worths": list(rare.values()),
                }
                await connection.execute(_QUERY["scan_further"].format(depth=DEPTH))
                values = fixed | further
                asked = await connection.execute(near_by, values, prepare=False, binary=True)
                return dict(await asked.fetchall()), frequencies

        async with self._searches:  # those that are given up while they wait have asked nothing
            return await self._store.run(find)

    async def read(self, place: Place, names: Sequence[str]) -> list[Row]:
        """Return some tools, without what they are found by."""
        named = place._asdict() | {"names": drop_nul(names)}
        asked = await self._store.run(
            lambda connection: connection.execute(_QUERY["read"], named, binary=True)
        )
        return [Row(*row) for row in await asked.fetchall()]


def drop_nul(texts: Iterable[str]) -> list[str]:
    """Drop the texts with a NUL character, which PostgreSQL cannot store."""
    return [text for text in texts if "\0" not in text]


def _find_rarest(terms: Mapping[str, float], frequencies: Mapping[str, int]) -> dict[str, float]:
    """Return the rarest terms with what a hit is worth; in names more."""
    rarest = dict[str, float]()
    hits = 0
    size = frequencies.get(ANY, 0)
    for term in sorted(filter(frequencies.get, terms), key=frequencies.__getitem__):
        count = frequencies[term]
        hits += count
        if hits > MOST_HITS and rarest:
            break
        worth = terms[term] * log((size - count + 0.5) / (count + 0.5) + 1.0)
        rarest |= {term: worth, IN_NAME + term: NAME_WORTH * worth}
    return rarest


def _write_condition(filters: Sequence[Filters | None]) -> tuple[str, dict[str, Any]]:
    """Return the condition that tools pass, and its values."""
    parts = [_OF_CATALOG]
    values = dict[str, Any]()
    for number, each in enumerate(filter(None, filters)):
        for place, labels in enumerate(labels_of(each)):
            parts.append(f"labels && %(labels{number}_{place})s")
            values[f"labels{number}_{place}"] = drop_nul(labels)
        if each.exclude:
            parts.append(f"name <> ALL(%(exclude{number})s)")
            values[f"exclude{number}"] = drop_nul(each.exclude)
        if each.only:
            parts.append(f"name = ANY(%(only{number})s)")
            values[f"only{number}"] = drop_nul(each.only)
    return " AND ".join(parts), values


def _write_vector(vector: Sequence[float]) -> str:
    return "[" + ",".join(f"{number:.6g}" for number in vector) + "]"
