"""One call that gives an agent its tools before the model runs.

Tier 0 is named by the caller and shown whole, or in brief if only that fits. Tier 1 fits the
message and is shown in brief. Both are filled in order; a tool that does not fit is skipped, and
the next is tried.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter

from toolscout.contract.answers import HotAnswer, Tiers, TierTokens
from toolscout.contract.fields import Level
from toolscout.contract.requests import HotRequest
from toolscout.index.catalog import Catalog
from toolscout.index.details import count_cost, describe_tools
from toolscout.ranking.ask import Ask
from toolscout.server.calls import answers, envelope, search
from toolscout.server.compiling.work_threads import run_inline_or_in_thread
from toolscout.server.http.answer import RawAnswer, answer_json
from toolscout.server.http.request import LimitedRequest
from toolscout.server.observe.record import Trace
from toolscout.server.service import Service
from toolscout.settings import Settings
from toolscout.tools.risk import LEVELS
from toolscout.tools.traits import Traits

TOKEN_BUDGET = 3_800
TIER0_SHARE = 1_200 / 3_800
"""Share of the budget for the tools of tier 0."""

TIER1_SHARE = 1_800 / 3_800
"""Share of the budget for those of tier 1; the rest is for the instructions that go with them."""

TIER1_TOOLS = 10
"""Maximum number of tools in tier 1; for more, the agent searches."""


def fill(
    rows: Iterable[int], budget: int, *costs: Callable[[int], int], most: int | None = None
) -> tuple[list[tuple[int, int]], int]:
    """Take rows in order if they fit, each at the first of its costs that does.

    Returns:
        Each row with the index of its cost, and the total cost.
    """
    taken: list[tuple[int, int]] = []
    spent = 0
    for row in rows:
        if most is not None and len(taken) == most:
            break
        for number, cost in enumerate(costs):
            price = cost(row)
            if spent + price <= budget:
                taken.append((row, number))
                spent += price
                break
    return taken, spent


def order_for_unknown(
    names: Sequence[str], traits: Sequence[Traits], successes: Mapping[str, int]
) -> list[int]:
    """Return all rows in the order in which to show them for an unknown task.

    First the tools that worked most often, then the agent's own (those without a namespace, the
    harmless ones first), then one of each namespace in turn. Ties break by name.
    """
    turn: Counter[str] = Counter()

    def place(row: int) -> tuple[int, int, int, str]:
        name = names[row]
        of_tool = traits[row]
        turn[of_tool.namespace] += 1
        nth = turn[of_tool.namespace] if of_tool.namespace else 0
        return -successes.get(name, 0), nth, LEVELS.index(of_tool.risk), name

    places = {row: place(row) for row in sorted(range(len(names)), key=names.__getitem__)}
    return sorted(places, key=places.__getitem__)


TIERED_AT_ONCE = 500
"""Maximum number of tools for which the tiers are filled on the event loop."""

TOKENS_PER_TOOL = 500
"""Tokens of a list that take as long as one tool."""

DEPTH = 5 * TIER1_TOOLS
"""Number of tools considered for tier 1: some do not fit, some are in tier 0."""


async def show_hot(service: Service, request: LimitedRequest, trace: Trace) -> RawAnswer:
    """Return the tools for an agent's next turn.

    A few tools whole, some in brief, within a budget of tokens.
    """
    read = await search.read_call(service, request, trace, HotRequest)
    sent = read.request
    envelope.require_tools(sent)
    budget = TOKEN_BUDGET if sent.token_budget is None else int(sent.token_budget)
    asks = _make_asks(service.settings, sent)
    used = [use.name for use in (sent.session.recent or ())] if sent.session else []
    named = [*(sent.tier0 or ()), *used]
    catalog = await search.find_compiled(service, read, trace, asks, named)
    began = perf_counter()
    rows = await _rank(service, trace, catalog, asks, sent)
    successes: Counter[str] = Counter()
    if service.learner is not None and not (sent.message or "").strip():
        for (name, _), tool in service.learner.experience(trace.tenant):
            successes[name] += tool.successes
    size = max(len(catalog), int(catalog.tokens.sum()) // TOKENS_PER_TOOL)
    answer = await run_inline_or_in_thread(
        size, TIERED_AT_ONCE, _fill_tiers, catalog, sent, budget, rows, trace, successes
    )
    trace.phases["rank"] = perf_counter() - began
    trace.tiers = answer.tokens
    return answer_json(answer, answers.write_common_headers(trace))


async def _rank(
    service: Service, trace: Trace, catalog: Catalog, asks: Iterable[Ask], sent: HotRequest
) -> Sequence[int]:
    """Rank the tools for the message; if nothing matches, for the words of the context."""
    deadline = search.set_deadline(service, perf_counter())
    for ask in asks:
        chained = ask.pattern is sent.message
        part = trace.part(ask)
        decision = await search.decide(
            service, part, catalog, deadline, chained=chained, waits=False
        )
        trace.degraded = decision.degraded or ""
        if decision.rows:
            return decision.rows
    return ()


def _fill_tiers(
    catalog: Catalog,
    sent: HotRequest,
    budget: int,
    rows: Sequence[int],
    trace: Trace,
    successes: Mapping[str, int],
) -> HotAnswer:
    def whole(row: int) -> int:
        return count_cost(catalog.tool(row), "full")

    def brief(row: int) -> int:
        return count_cost(catalog.tool(row), "brief")

    allowed = catalog.facets.allowed(sent.filters, catalog.rows)
    permitted = catalog.rows
    if allowed is not None:
        permitted = {name: row for name, row in catalog.rows.items() if allowed[row]}
    named = [permitted[name] for name in dict.fromkeys(sent.tier0 or ()) if name in permitted]
    first, tokens0 = fill(named, int(budget * TIER0_SHARE), whole, brief)
    shown = {row for row, _ in first}
    order = rows or _find_served(catalog, sent, successes, permitted)
    ranked = [row for row in order if row not in shown]
    second, tokens1 = fill(ranked, int(budget * TIER1_SHARE), brief, most=TIER1_TOOLS)
    levels: tuple[Level, Level] = ("full", "brief")
    tier0 = [describe_tools(catalog, [row], levels[level])[0] for row, level in first]
    tier1 = describe_tools(catalog, [row for row, _ in second], "brief")
    offered = int(catalog.tokens.sum())
    total = tokens0 + tokens1
    return HotAnswer(
        Tiers(tier0, tier1, trace.unique - len(tier0) - len(tier1)),
        TierTokens(tokens0, tokens1, total, budget, offered, max(offered - total, 0)),
        trace.degraded or "no",
    )


def _make_asks(settings: Settings, request: HotRequest) -> list[Ask]:
    """Make questions of the message and of the words of the context, if present."""
    context = request.context
    around = [] if context is None else [*(context.signals or ()), *(context.files or ())]
    return [
        envelope.ask_with(
            settings,
            pattern=pattern,
            top_k=DEPTH,
            filters=request.filters,
            session=request.session,
            context=context,
            no_match_below=request.no_match_below,
        )
        for pattern in (request.message or "", " ".join(around))
        if pattern.strip()
    ]


def _find_served(
    catalog: Catalog, sent: HotRequest, successes: Mapping[str, int], permitted: Mapping[str, int]
) -> list[int]:
    """Return the tools that worked in the session; without any information, the core tools.

    `permitted` are the rows of the tools that pass the filters, by name.
    """
    session = sent.session
    recent = [use for use in (session.recent or ()) if use.successes] if session else []
    recent.sort(key=lambda use: (-(use.successes or 0), use.name))
    served = [permitted[use.name] for use in recent if use.name in permitted]
    if not served and not (sent.message or "").strip():
        core = order_for_unknown(catalog.names, catalog.facets.prepare(), successes)
        served = [row for row in core if catalog.names[row] in permitted]
    return served
