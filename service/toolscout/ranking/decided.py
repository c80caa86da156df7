"""Remember decisions: an agent asks the same question of the same tools at every step of a turn.

A decision that depends on nothing but question, tools and experience is made once until the
experience with these tools changes. Those in which a chain or shortness of time had a
part are made anew each time.
"""

from contextlib import suppress
from weakref import ref

from msgspec.structs import astuple, replace

from toolscout.common.lru import Lru
from toolscout.index.catalog import Catalog
from toolscout.ranking.ask import Ask, Decision

DECIDED_BYTES = 16 << 20
"""Bytes of all remembered decisions: some 1,000 about 300 tools each."""

_BASE_BYTES = 3_000
_TOOL_BYTES = 32
_TERM_BYTES = 200
_VECTOR_BYTES = 1_200

NO_EXPERIENCE = 0
"""The version of the experience where there is none."""

MAX_CHARS = 4_096
"""Characters of a question up to which it is remembered."""

MAX_NAMES = 64
"""Names and filter values beside a question up to which it is remembered."""


class Decided:
    """The latest decisions of an engine; thread-safe."""

    def __init__(self) -> None:
        self._kept: Lru[tuple[int, Ask], tuple[ref[Catalog], int, Decision]] = Lru(DECIDED_BYTES)

    def find(self, catalog: Catalog, ask: Ask, version: int = NO_EXPERIENCE) -> Decision | None:
        """Return the decision about a question that was made of this catalog and experience."""
        remembered = None
        if _is_long(ask):
            return None
        with suppress(TypeError):  # what a library's caller gives as lists is not looked up
            remembered = self._kept.get((id(catalog), ask))
        if remembered is None or remembered[0]() is not catalog or remembered[1] != version:
            return None
        decision = remembered[2]
        return replace(decision, ranking=replace(decision.ranking, source=catalog))

    def keep(
        self, catalog: Catalog, ask: Ask, decision: Decision, version: int = NO_EXPERIENCE
    ) -> None:
        """Remember a decision in place of an older one, without catalog and experience.

        These may be dropped meanwhile.
        """
        ranking = decision.ranking
        if ranking.scan is not None or not catalog.digest or _is_long(ask):
            return  # as many rows as match; a part of a catalog; a key of any size
        size = _BASE_BYTES + _TOOL_BYTES * len(catalog) + _TERM_BYTES * len(ranking.query.terms)
        size += 3 * len(ask.pattern) + _VECTOR_BYTES
        with suppress(TypeError):
            without = replace(decision, ranking=replace(ranking, source=None, prior=None))
            self._kept.put((id(catalog), ask), (ref(catalog), version, without), size)


def _is_long(ask: Ask) -> bool:
    """Whether a question says so much that remembering it would take many bytes."""
    if ask.session is not None or ask.context is not None or ask.earlier:
        return True
    names = len(ask.always_keep)
    if ask.filters is not None:
        names += sum(len(values) for values in astuple(ask.filters) if isinstance(values, tuple))
    return names > MAX_NAMES or len(ask.pattern) > MAX_CHARS
