"""Boost scores by the session and its context, within bounds.

Tools that just worked rise, those that failed sink, and both effects decay with every turn. Tools
of another domain than that of the work sink a little. Boosts never make a match: a factor
multiplies, and zero stays zero.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolscout.contract.requests import Context, Session
from toolscout.text.domains import Taxonomy, find_leading
from toolscout.text.query import Query
from toolscout.text.tokens import analyse_terms

Floats = NDArray[np.float32]

MAX_BOOST = 0.5
"""Largest share by which a score is raised or lowered."""

HALF_LIFE = 3.0
"""Turns after which a use counts half."""

EXPANDED = 0.1
"""What an expanded tool gains in its turn."""

REMEMBERED = 100
"""Number of latest expanded tools that count; the effect of earlier ones has decayed."""

OTHER_DOMAIN = 0.5
"""Share that a tool of another domain loses when the domain is certain."""

SURE_LEAD = 4.0
"""Lead, in indicative words, from which a domain is certain."""


class Boost(msgspec.Struct, frozen=True):
    """One influence on one tool's score: `change` is signed, +0.2 raises it by a fifth."""

    field: str
    term: str
    change: float


class Boosts(msgspec.Struct, frozen=True, eq=False):
    """The factor of every tool, shape (tools,), and its parts."""

    factors: Floats
    of_session: dict[int, list[Boost]]
    of_domain: Boost | None = None
    elsewhere: frozenset[int] = frozenset()
    """The tools that `of_domain` lowers."""

    def of(self, row: int) -> list[Boost]:
        """Return all boosts of one tool."""
        parts = self.of_session.get(row, [])
        return [*parts, self.of_domain] if self.of_domain and row in self.elsewhere else parts


def find_boosts(
    session: Session | None,
    context: Context | None,
    query: Query,
    rows: Mapping[str, int],
    taxonomy: Taxonomy,
    elsewhere: Callable[[str], Sequence[int]],
) -> Boosts:
    """Return the factors of a request's session and context.

    `rows` finds tools by name; `elsewhere` gives the rows of tools of other domains than one.
    """
    factors = np.ones(len(rows), np.float32)
    parts = {} if session is None else _boost_session(session, rows)
    for row, boosts in parts.items():
        factors[row] = 1.0 + sum(part.change for part in boosts)
    domain, strength = ("", 0.0) if context is None else find_work(context, query, taxonomy)
    if not domain:
        return Boosts(factors, parts)
    lowered = elsewhere(domain)
    lost = OTHER_DOMAIN * strength
    factors[lowered] *= np.float32(1.0 - lost)
    return Boosts(factors, parts, Boost("domain", domain, -lost), frozenset(lowered))


def find_work(context: Context, query: Query, taxonomy: Taxonomy) -> tuple[str, float]:
    """Return the domain of a request and its certainty, 0 to 1; "" without enough evidence.

    The query takes precedence: the context counts only if the query leaves the domain open.
    """
    asked = {term.term for term in query.terms if term.via is None}
    domain, lead = find_leading(taxonomy.count(asked))
    if not domain:
        around = {term for signal in context.signals or () for term in analyse_terms(signal)}
        around.update(term for file in context.files or () for term in taxonomy.file_terms(file))
        domain, lead = find_leading(taxonomy.count(asked | around))
    return domain, min(1.0, lead / SURE_LEAD)


def _boost_session(session: Session, rows: Mapping[str, int]) -> dict[int, list[Boost]]:
    boosts: dict[int, list[Boost]] = {}
    for use in session.recent or ():
        row = rows.get(use.name)
        successes = use.successes or 0.0
        failures = use.failures or 0.0
        if row is None or successes + failures == 0:
            continue
        # One success is weaker evidence than ten: it counts half.
        weight = MAX_BOOST * _weaken(use.turns_ago or 0.0) / (successes + failures + 1.0)
        parts = boosts.setdefault(row, [])
        if successes:
            parts.append(Boost("session", "successes", successes * weight))
        if failures:
            parts.append(Boost("session", "failures", -failures * weight))
    latest = [name for name in session.expanded or () if name in rows][-REMEMBERED:]
    for age, name in enumerate(reversed(latest)):
        change = EXPANDED * _weaken(float(age))
        boosts.setdefault(rows[name], []).append(Boost("session", "expanded", change))
    return {row: _bound_parts(parts) for row, parts in boosts.items()}


def _weaken(turns: float) -> float:
    return float(0.5 ** (turns / HALF_LIFE))


def _bound_parts(parts: list[Boost]) -> list[Boost]:
    """Scale the parts down together if their sum exceeds the bound."""
    total = abs(sum(part.change for part in parts))
    if total <= MAX_BOOST:
        return parts
    share = MAX_BOOST / total
    return [Boost(part.field, part.term, part.change * share) for part in parts]
