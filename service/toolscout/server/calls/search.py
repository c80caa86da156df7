"""The search endpoint: select the names of a few tools.

headers → admission → key → body → envelope → catalog (hit, or compile) → ranker → answer
"""

from toolscout.contract.requests import SearchRequest
from toolscout.server.calls import envelope
from toolscout.server.calls.answers import Showing, encode, headers
from toolscout.server.calls.decide import deadline_of, decide, find, read_call, remember
from toolscout.server.http import value_limits
from toolscout.server.http.answer import Answer
from toolscout.server.http.request import Request
from toolscout.server.observe.trace import Trace
from toolscout.server.service import Service

_decode = value_limits.decoder(SearchRequest)


async def search(service: Service, request: Request, trace: Trace) -> Answer:
    """Answer one search.

    Raises:
        Refused, InvalidRequest, CatalogUnknown: the request is at fault.
    """
    read = await read_call(service, request, trace, _decode)
    sent = read.request
    request.newer_contract = request.newer_contract or sent.is_newer
    ask = envelope.to_ask(sent, service.settings)
    deadline = deadline_of(service, request.arrived, sent.latency_budget_ms)
    trace.pattern, trace.top_k = ask.pattern, ask.top_k
    source = await find(service, request, read, trace, deadline, [(ask, trace)])
    chained = bool(sent.complete_chain)
    decision = await decide(service, trace, source, ask, deadline, chained=chained)
    await remember(service, trace.tenant, sent.turn, decision)
    found = await Showing(service).answer(trace, decision, explained=bool(sent.explain))
    return Answer(encode(found, newer_contract=request.newer_contract), headers(trace))
