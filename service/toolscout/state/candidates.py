"""Catalogs that are kept tool by tool in PostgreSQL, because no process could hold them.

A question brings those few that can be its answer: the nearest by meaning, those with its rarest
words, and those that it names. What they are ranked by stays elsewhere.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import Any, NamedTuple

from toolscout import data
from toolscout.contract.requests import Filters
from toolscout.state.postgres import PostgresStore
from toolscout.tools.filters import labels_of

DEPTH = 100
"""Candidates by meaning, by words and by name, each. With 200 recall is .01 higher, and a search
takes half as long again."""

MOST_HITS = 1_000
"""Tools with one of a question's rare words that are compared; more common words bring none."""

WRITE_S = 30.0
"""Seconds for a change, of 1,000 tools at most: some 2, most of it for the index of vectors."""

ANY = ""
"""A term that every tool has."""

IN_NAME = "="
"""Before a term of a tool's name."""

NAME_WORTH = 1.5
"""What a word counts in a name, beside its hit anywhere."""

_QUERY: dict[str, str] = data.load("candidates")
_OF_CATALOG = "tenant = %(tenant)s AND catalog = %(catalog)s"
_USABLE = "NOT labels && ARRAY['unavailable']"
_FOUND_IN_CATALOG = "tenant || '' = %(tenant)s AND catalog || '' = %(catalog)s"


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


class Wish(NamedTuple):
    """What a question looks for."""

    vector: Sequence[float] | None
    terms: Mapping[str, float]
    """Terms with their weights."""
    related: Iterable[str]
    """Further terms that the ranking wants the frequencies of."""
    forms: Sequence[str]
    """What a tool may be called by in it."""
    names: Sequence[str] = ()
    """Tools that are wanted in any case."""
    filters: Sequence[Filters] = ()


class Candidates:
    """The tools of such catalogs.

    Every method raises `StoreUnavailable` when the database cannot serve it.
    """

    def __init__(self, store: PostgresStore, dimension: int) -> None:
        """Keep vectors of one dimension."""
        self._store = store
        self._dimension = dimension

    async def make(self) -> None:
        """Make the tables, unless they are there.

        Raises:
            StoreUnavailable: the database has no extension `vector`, or the user no right to it.
        """

        async def make(connection: Any) -> None:
            await connection.execute(_QUERY["make"])
            await connection.execute(_QUERY["make_index"].format(dimension=self._dimension))

        await self._store.run(make, within_s=WRITE_S)

    async def write(
        self,
        tenant: str,
        catalog: str,
        rows: Sequence[Row],
        remove: Sequence[str] = (),
        *,
        anew: bool = False,
    ) -> int:
        """Add, replace and remove tools together, or all; returns how many there are then.

        What is there already, as the same build compiled it, is not written again.
        """
        place = {"tenant": tenant, "catalog": catalog}

        async def write(connection: Any) -> int:
            async with connection.transaction(), connection.cursor() as cursor:
                await cursor.execute(_QUERY["lock"], place)
                for query in ("drop", "drop_counts") if anew else ():
                    await cursor.execute(_QUERY[query], place)
                names = [*(row.name for row in rows), *remove]
                await cursor.execute(_QUERY["known"], place | {"names": names})
                known = {name: (digest, build) for name, digest, build in await cursor.fetchall()}
                new = [row for row in rows if known.get(row.name) != (row.digest, row.build)]
                gone = [*(row.name for row in new if row.name in known), *remove]
                await cursor.execute(_QUERY["remove"], place | {"names": gone})
                if new:
                    await cursor.executemany(
                        _QUERY["insert"],
                        [place | row._asdict() | {"vector": _text(row.vector)} for row in new],
                    )
                    counts = Counter(term for row in new for term in row.terms)
                    added = {"terms": list(counts), "added": list(counts.values())}
                    await cursor.execute(_QUERY["count_terms"], place | added)
                await cursor.execute(_QUERY["frequencies"], place | {"terms": [ANY]})
                counted = await cursor.fetchone()
                return 0 if counted is None else int(counted[1])

        return await self._store.run(write, within_s=WRITE_S)

    async def drop(self, tenant: str, catalog: str) -> None:
        """Remove a catalog's tools."""

        async def drop(connection: Any) -> None:
            async with connection.transaction():
                for query in ("lock", "drop", "drop_counts"):
                    await connection.execute(_QUERY[query], {"tenant": tenant, "catalog": catalog})

        await self._store.run(drop, within_s=WRITE_S)

    async def near(
        self, tenant: str, catalog: str, wish: Wish
    ) -> tuple[dict[str, bytes], dict[str, int]]:
        """Return the candidates for a question, by name their digests, and frequencies of terms.

        The frequency of `ANY` is the number of tools.
        """
        place: dict[str, Any] = {"tenant": tenant, "catalog": catalog}
        terms = [ANY, *wish.terms, *wish.related]
        counted = await self._rows("frequencies", place | {"terms": terms})
        frequencies: dict[str, int] = dict(counted)
        rare = _rarest(wish.terms, frequencies, frequencies.get(ANY, 0))
        where, values = _where(wish.filters)
        found = where.replace(_OF_CATALOG, _FOUND_IN_CATALOG)
        query = _QUERY["near"].format(
            where=where, found=found, usable=_USABLE, dimension=self._dimension
        )
        values |= {
            "vector": _text(wish.vector or [0.0] * self._dimension),
            "rare": list(rare),
            "worths": list(rare.values()),
            "forms": list(wish.forms),
            "names": list(wish.names),
            "depth": DEPTH,
            "similar": DEPTH if wish.vector else 0,
        }

        async def near(connection: Any) -> list[tuple[str, bytes]]:
            async with connection.transaction():
                await connection.execute(_QUERY["scan_further"].format(depth=DEPTH))
                rows: list[tuple[str, bytes]] = await (
                    await connection.execute(query, place | values, prepare=False)
                ).fetchall()
                return rows

        return dict(await self._store.run(near)), frequencies

    async def read(self, tenant: str, catalog: str, names: Sequence[str]) -> list[Row]:
        """Return some tools, without what they are found by."""
        place = {"tenant": tenant, "catalog": catalog, "names": list(names)}
        return [Row(*row) for row in await self._rows("read", place)]

    async def _rows(self, query: str, values: Mapping[str, Any]) -> list[Any]:
        async def rows(connection: Any) -> list[Any]:
            found: list[Any] = await (await connection.execute(_QUERY[query], values)).fetchall()
            return found

        return await self._store.run(rows)


def _rarest(
    terms: Mapping[str, float], frequencies: Mapping[str, int], size: int
) -> dict[str, float]:
    """Return the rarest terms with what a hit is worth; in names more."""
    found: dict[str, float] = {}
    hits = 0
    for term in sorted(terms, key=lambda term: frequencies.get(term, 0)):
        count = frequencies.get(term, 0)
        if not count:
            continue
        hits += count
        if hits > MOST_HITS and found:
            break
        worth = terms[term] * log((size - count + 0.5) / (count + 0.5) + 1.0)
        found |= {term: worth, IN_NAME + term: NAME_WORTH * worth}
    return found


def _where(filters: Sequence[Filters]) -> tuple[str, dict[str, Any]]:
    """Return the condition that tools pass, and its values."""
    parts, values = [_OF_CATALOG], dict[str, Any]()
    for number, each in enumerate(filters):
        for place, labels in enumerate(labels_of(each)):
            parts.append(f"labels && %(labels{number}_{place})s")
            values[f"labels{number}_{place}"] = labels
        if each.exclude:
            parts.append(f"name <> ALL(%(exclude{number})s)")
            values[f"exclude{number}"] = list(each.exclude)
        if each.only:
            parts.append(f"name = ANY(%(only{number})s)")
            values[f"only{number}"] = list(each.only)
    return " AND ".join(parts), values


def _text(vector: Sequence[float]) -> str:
    return "[" + ",".join(f"{number:.6g}" for number in vector) + "]"
