"""Filters: which tools may be in an answer at all, decided before anything is ranked.

Values of one facet are alternatives, facets add up: `namespaces ["git", "ci"]` with `max_risk
"read_only"` leaves the harmless tools of either server. Unavailable tools are never allowed.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from toolscout.contract.requests import Filters
from toolscout.contract.tools import Tool
from toolscout.text.domains import Taxonomy
from toolscout.text.tokens import fold
from toolscout.tools.documents import decode_tool
from toolscout.tools.filters import VALUES, is_passing, list_facets
from toolscout.tools.risk import LEVELS
from toolscout.tools.traits import Traits, infer, unpack_clues

Allowed = NDArray[np.bool_]
"""Whether each tool of a catalog may be selected, shape (tools,)."""


_LEVEL = {risk: level for level, risk in enumerate(LEVELS)}


class Facets:
    """The traits of a catalog's tools, inferred and indexed when a question first needs them.

    Most questions never do, and a new catalog is answered the sooner for it.
    """

    __slots__ = ("_index", "_levels", "_taxonomy", "_traits", "_wires", "available", "clues")

    def __init__(
        self,
        wires: Sequence[bytes],
        clues: Sequence[bytes],
        available: Allowed | None,
        taxonomy: Taxonomy,
    ) -> None:
        """Take each tool as it was sent, in JSON, and the packed clues to its traits.

        `available` is None where all are.
        """
        self._wires = wires
        self.clues = clues
        self.available = available
        self._taxonomy = taxonomy
        self._traits: list[Traits] | None = None
        self._index: dict[str, dict[str, list[int]]] = {}
        self._levels: NDArray[np.int8] | None = None

    @property
    def ready(self) -> bool:
        """Whether all traits are inferred."""
        return self._traits is not None

    def prepare(self) -> list[Traits]:
        """Infer all traits, if that was not done before; may be called from any thread."""
        if self._traits is None:
            self._traits = list(map(self.of, range(len(self._wires))))
        return self._traits

    def of(self, row: int) -> Traits:
        """Return the traits of one tool."""
        if self._traits is not None:
            return self._traits[row]
        return infer(decode_tool(self._wires[row]), unpack_clues(self.clues[row]), self._taxonomy)

    def allowed(self, filters: Filters | None, rows: Mapping[str, int]) -> Allowed | None:
        """Return the tools that pass, or None when all do; `rows` finds the tools to exclude."""
        if filters is None:
            return self.available
        passed = self.find_passing(filters, rows)
        return passed if self.available is None else passed & self.available

    def find_passing(self, filters: Filters, rows: Mapping[str, int]) -> Allowed:
        """Return the tools that pass, also those that are not available."""
        passed = np.ones(len(self._wires), np.bool_)
        for facet, values in list_facets(filters):
            owners = self._group_by_value(facet)
            mask = np.zeros(len(passed), np.bool_)
            for value in values:
                mask[owners.get(value, [])] = True
            passed &= mask
        if filters.max_risk is not None:
            passed &= self._group_by_risk() <= _LEVEL[filters.max_risk]
        passed[[rows[name] for name in filters.exclude or () if name in rows]] = False
        if filters.only:
            chosen = np.zeros(len(passed), np.bool_)
            chosen[[rows[name] for name in filters.only if name in rows]] = True
            passed &= chosen
        return passed

    def find_elsewhere(self, domain: str) -> list[int]:
        """Return the tools known to belong to another domain, by more than a word of the name."""
        here = fold(domain)
        domains = enumerate(traits.domain for traits in self.prepare())
        return [row for row, other in domains if other and fold(other) != here]

    def _group_by_value(self, facet: str) -> dict[str, list[int]]:
        """For each value of a facet the tools that have it."""
        owners = self._index.get(facet)
        if owners is None:
            owners = {}
            values_of = VALUES[facet]
            for row, traits in enumerate(self.prepare()):
                for value in values_of(traits):
                    owners.setdefault(value, []).append(row)
            self._index[facet] = owners
        return owners

    def _group_by_risk(self) -> NDArray[np.int8]:
        if self._levels is None:
            levels = [_LEVEL[traits.risk] for traits in self.prepare()]
            self._levels = np.array(levels, np.int8)
        return self._levels


def filter_by_score(
    tools: Sequence[Tool],
    filters: Filters | None,
    taxonomy: Taxonomy,
    scores: NDArray[np.float32],
    considered: Iterable[int],
    top_k: int,
) -> Allowed:
    """Return the tools that pass among those that can be in the answer.

    Nothing is indexed, and inferring takes time: tools are looked at from the best score down
    until `top_k` have passed, and those of the rows `considered` in any case.
    """
    passed = np.zeros(len(tools), np.bool_)
    for row in considered:
        passed[row] = _is_allowed(tools[row], filters, taxonomy)
    count = 0
    order = np.argsort(-scores, kind="stable")
    for row in order[scores[order] > 0].tolist():
        passed[row] = _is_allowed(tools[row], filters, taxonomy)
        count += bool(passed[row])
        if count >= top_k:
            break
    return passed


def find_declared_elsewhere(tools: Sequence[Tool], domain: str) -> list[int]:
    """Return the tools that say themselves that they belong to another domain; none is inferred."""
    return [
        row for row, tool in enumerate(tools) if tool.domain and fold(tool.domain) != fold(domain)
    ]


def _is_allowed(tool: Tool, filters: Filters | None, taxonomy: Taxonomy) -> bool:
    if tool.status == "unavailable":
        return False
    return filters is None or is_passing(tool, filters, taxonomy)
