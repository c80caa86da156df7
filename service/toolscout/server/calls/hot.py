"""One call that gives an agent its tools before the model runs."""

from collections import Counter
from collections.abc import Mapping
from time import perf_counter
from typing import NamedTuple

from toolscout.contract import Detail, HotAnswer, HotRequest, Tiers, TierTokens
from toolscout.index.catalog import Catalog
from toolscout.index.details import cost_of, details
from toolscout.index.lines import Scan
from toolscout.learning.experience import Experience
from toolscout.ranking.ask import Ask, Prior
from toolscout.ranking.chain import Chain
from toolscout.ranking.tiers import (
    TIER0_SHARE,
    TIER1_SHARE,
    TIER1_TOOLS,
    TOKEN_BUDGET,
    core_tools,
    fill,
)
from toolscout.server.calls import answers
from toolscout.server.calls.batch import compiled_call, read_call
from toolscout.server.calls.patterns import scan
from toolscout.server.compiling.work_threads import beside
from toolscout.server.http import bodies, envelope
from toolscout.server.http.answer import Answer, answer_json
from toolscout.server.http.request import Request
from toolscout.server.observe.trace import Trace
from toolscout.server.service import Service
from toolscout.settings import Settings

_hot = bodies.decoder(HotRequest)

AT_ONCE = 500
"""Tools up to which the tiers are filled on the event loop."""

TOKENS_PER_TOOL = 500
"""Tokens of a list that take as long as one tool."""

DEPTH = 5 * TIER1_TOOLS
"""Tools that are looked at for tier 1: some do not fit, some are in tier 0."""


Asks = list[tuple[Ask, Scan | None]]
"""The questions that a request comes down to, first what is asked first; each with what it matched
as a regular expression."""


class Learned(NamedTuple):
    """What experience says of a message and of the tools."""

    prior: Prior | None = None
    chain: Chain | None = None
    successes: Mapping[str, int] = {}
    """Calls that worked, by tool name."""


async def hot_tools(service: Service, request: Request, trace: Trace) -> Answer:
    """Fill the tiers for a message.

    Raises:
        Refused, InvalidRequest, CatalogUnknown: the request is at fault.
    """
    read, arrived = await read_call(service, request, trace, _hot)
    sent = read.request
    given = envelope.whole("token_budget", sent.token_budget)
    budget = TOKEN_BUDGET if given is None else given
    catalog = await compiled_call(service, read, arrived, trace)
    began = perf_counter()
    # Here, not in the thread: the index of a large catalog is made by a task of this loop.
    learned = _learned(service, trace.tenant, catalog, sent.message or "")
    deadline = began + service.settings.latency_budget_ms / 1_000
    asks = [
        (ask, await scan(service, trace.tenant, catalog, ask, deadline))
        for ask in _asks(service.settings, sent)
    ]
    size = max(len(catalog), int(catalog.tokens.sum()) // TOKENS_PER_TOOL)
    found = await beside(size, AT_ONCE, _tiers, service, catalog, sent, budget, learned, asks)
    trace.phases["rank"] = perf_counter() - began
    phases = trace.phases | {"total": perf_counter() - request.started}
    service.tally.note_hot(trace.tenant, phases, found.tokens)
    trace.degraded = "" if found.degraded == "no" else found.degraded
    return answer_json(found, answers.common_headers(trace))


def _learned(service: Service, tenant: str, catalog: Catalog, message: str) -> Learned:
    learner = service.learner
    if learner is None:
        return Learned()
    most = service.settings.max_pattern_chars
    return Learned(
        learner.prior(tenant, catalog),
        learner.chain(tenant, message[:most], catalog) if message.strip() else None,
        {} if message.strip() else _successes(learner.experience(tenant)),
    )


def _successes(experience: Experience) -> Mapping[str, int]:
    counted: Counter[str] = Counter()
    for (name, _), tool in experience:
        counted[name] += tool.successes
    return counted


def _tiers(
    service: Service,
    catalog: Catalog,
    request: HotRequest,
    budget: int,
    learned: Learned,
    asks: Asks,
) -> HotAnswer:
    def whole(row: int) -> int:
        return cost_of(catalog.tool(row), "full")

    def brief(row: int) -> int:
        return cost_of(catalog.tool(row), "brief")

    allowed = catalog.facets.allowed(request.filters, catalog.rows)
    named = [catalog.rows[n] for n in dict.fromkeys(request.tier0 or ()) if n in catalog.rows]
    if allowed is not None:
        named = [row for row in named if allowed[row]]
    first, tokens0 = fill(named, int(budget * TIER0_SHARE), whole, brief)
    shown = {row for row, _ in first}
    order, degraded = _ranked(service, catalog, request, learned, asks)
    ranked = [row for row in order if row not in shown]
    second, tokens1 = fill(ranked, int(budget * TIER1_SHARE), brief, most=TIER1_TOOLS)
    levels: tuple[Detail, Detail] = ("full", "brief")
    taxonomy = catalog.taxonomy
    tier0 = [details(catalog, [row], taxonomy, levels[level])[0] for row, level in first]
    tier1 = details(catalog, [row for row, _ in second], taxonomy, "brief")
    offered, total = int(catalog.tokens.sum()), tokens0 + tokens1
    return HotAnswer(
        Tiers(tier0, tier1, len(catalog) - len(tier0) - len(tier1)),
        TierTokens(tokens0, tokens1, total, budget, offered, max(offered - total, 0)),
        degraded,
    )


def _asks(settings: Settings, request: HotRequest) -> list[Ask]:
    """Make questions of the message and of the words of the surroundings, as far as there are."""
    context = request.context
    around = [] if context is None else [*(context.signals or ()), *(context.files or ())]
    no_match_below = request.no_match_below
    return [
        Ask(
            pattern=pattern,
            top_k=DEPTH,
            filters=request.filters,
            session=request.session,
            context=context,
            no_match_below=settings.no_match_below if no_match_below is None else no_match_below,
            max_pattern_chars=settings.max_pattern_chars,
        )
        for pattern in (request.message or "", " ".join(around))
        if pattern.strip()
    ]


def _ranked(
    service: Service, catalog: Catalog, request: HotRequest, learned: Learned, asks: Asks
) -> tuple[list[int], str]:
    """The tools for a message, best first, and the cheaper ranker that found them or `no`.

    Where no message is, or it finds nothing, the words of the surroundings are asked, then what
    served in the session; where nothing is known at all, the core tools are shown.
    """
    session = request.session
    message = request.message or ""
    degraded = "no"
    for ask, found in asks:
        chain = learned.chain if ask.pattern is message else None
        assert service.engine is not None
        decision = service.engine.decide(catalog, ask, None, learned.prior, chain, found)
        degraded = decision.degraded or "no"
        if decision.rows:
            return decision.rows, degraded
    recent = [use for use in (session.recent or ()) if use.successes] if session else []
    recent.sort(key=lambda use: (-(use.successes or 0), use.name))
    allowed = catalog.facets.allowed(request.filters, catalog.rows)
    served = [catalog.rows[use.name] for use in recent if use.name in catalog.rows]
    served = [row for row in served if allowed is None or allowed[row]]
    if not served and not message.strip():
        core = core_tools(catalog.names, catalog.facets.prepare(), learned.successes)
        served = [row for row in core if allowed is None or allowed[row]]
    return served, degraded
