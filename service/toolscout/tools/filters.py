"""Filters: whether one tool passes, by what it declares and what is inferred from its text."""

from collections import Counter
from collections.abc import Callable, Iterable

import msgspec

from toolscout.contract.requests import Filters
from toolscout.contract.tools import Tool
from toolscout.text.domains import Taxonomy
from toolscout.text.tokens import fold
from toolscout.tools.risk import LEVELS
from toolscout.tools.traits import Traits, read_declared, read_traits

ANONYMOUS = "anonymous"
"""The tenant of every caller where there are no keys."""


def is_passing(tool: Tool, filters: Filters, taxonomy: Taxonomy) -> bool:
    """Whether a tool passes; its text is only read for what has to be inferred from it."""
    if tool.name in (filters.exclude or ()) or (filters.only and tool.name not in filters.only):
        return False
    facets = list_facets(filters)
    traits = read_declared(tool)
    untold = {"domains": not traits.domain, "capabilities": not traits.capabilities}
    inferred = [facet for facet, _ in facets if untold.get(facet)]
    stated = [(facet, values) for facet, values in facets if facet not in inferred]
    if any(values.isdisjoint(VALUES[facet](traits)) for facet, values in stated):
        return False
    if filters.max_risk is None and not inferred:
        return True
    if inferred or tool.risk is None:
        traits = read_traits(tool, taxonomy)
    if filters.max_risk is not None and LEVELS.index(traits.risk) > LEVELS.index(filters.max_risk):
        return False
    return all(not values.isdisjoint(VALUES[facet](traits)) for facet, values in facets)


def list_facets(filters: Filters) -> list[tuple[str, set[str]]]:
    """Each facet that is filtered by, with the values asked for."""
    facets = [(facet, getattr(filters, facet)) for facet in VALUES]
    return [(facet, set(map(fold, values))) for facet, values in facets if values]


def _list_prefixes(namespace: str) -> list[str]:
    """Return a namespace and those it lies in: `git.api` is also found as `git`."""
    parts = fold(namespace).split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts) + 1)] if namespace else []


def _find_one(value: str) -> Iterable[str]:
    return (fold(value),) if value else ()


def _list_domains(traits: Traits) -> Iterable[str]:
    return map(fold, filter(None, (traits.domain, traits.server_domain, *traits.named_domains)))


VALUES: dict[str, Callable[[Traits], Iterable[str]]] = {
    "namespaces": lambda traits: _list_prefixes(traits.namespace),
    "domains": lambda traits: _list_domains(traits),
    "tags": lambda traits: map(fold, traits.tags),
    "sources": lambda traits: _find_one(traits.source),
    "capabilities": lambda traits: map(fold, traits.capabilities),
}
"""For each facet of `Filters` the values of a tool."""


def count_domains(traits: Iterable[Traits]) -> dict[str, int]:
    """Return how many tools a filter by each domain lets through, most first."""
    counts = Counter(domain for one in traits for domain in set(_list_domains(one)))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def write_labels(tool: Tool, traits: Traits) -> list[str]:
    """Return what filters look at, for an index elsewhere; see `labels_of`."""
    facets = [f"{facet}={value}" for facet, values in VALUES.items() for value in values(traits)]
    unavailable = ["unavailable"] if tool.status == "unavailable" else []
    return [*facets, f"risk={traits.risk}", *unavailable]


def labels_of(filters: Filters) -> list[list[str]]:
    """Return the labels that tools need, of each list one; names are not among them."""
    facets = list_facets(filters)
    needed = [[f"{facet}={value}" for value in values] for facet, values in facets]
    if filters.max_risk is not None:
        needed.append([f"risk={risk}" for risk in LEVELS[: LEVELS.index(filters.max_risk) + 1]])
    return needed


def space_of(tenant: str, filters: Filters | None) -> str:
    """Return the part of a tenant's tools that a key with filters sees; without any, the tenant."""
    return tenant if filters is None else f"{tenant}\0{msgspec.json.encode(filters).decode()}"


def tenant_of(space: str) -> str:
    """Return the tenant whose tools a space holds a part of."""
    return space.partition("\0")[0]


def filters_of(space: str) -> Filters | None:
    """Return the filters that a tool of a space passes; None where all are there."""
    _, separator, written = space.partition("\0")
    return msgspec.json.decode(written, type=Filters) if separator else None
