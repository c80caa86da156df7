"""The search endpoint: bytes in, the names of a few tools out.

headers → admission → key → body → envelope → catalog (hit, or compile) → ranker → answer
"""

from functools import partial

from toolscout.contract import SearchRequest
from toolscout.index.catalog import Catalog
from toolscout.server.calls import answers
from toolscout.server.calls.decide import deadline_of, decide, find, read_call
from toolscout.server.compiling.work_threads import beside
from toolscout.server.http import bodies, envelope
from toolscout.server.http.answer import Answer
from toolscout.server.http.request import Request
from toolscout.server.observe.trace import Trace
from toolscout.server.service import Service

_decode = bodies.decoder(SearchRequest)


async def search(service: Service, request: Request, trace: Trace) -> Answer:
    """Answer one search.

    Raises:
        Refused, InvalidRequest, CatalogUnknown: the request is at fault.
    """
    settings = service.settings
    read = await read_call(service, request, trace, _decode)
    sent = read.request
    request.newer_contract = newer = request.newer_contract or sent.is_newer
    ask = envelope.to_ask(sent, settings)
    deadline = deadline_of(service, request, sent.latency_budget_ms)
    trace.pattern, trace.top_k = ask.pattern, ask.top_k
    source = await find(service, request, read, [ask], [trace], trace, deadline)
    if isinstance(source, Catalog):
        chained = bool(sent.complete_chain)
        await decide(service, trace, source, ask, deadline, chained=chained)
    assert trace.decision is not None
    if sent.explain or ask.detail or ask.definitions:
        assert service.engine is not None
        rich = partial(
            answers.rich,
            trace,
            source,
            ask,
            service.engine.compiler.taxonomy,
            explained=bool(sent.explain),
            newer_contract=newer,
        )
        shown, nbytes = len(trace.decision.names), answers.shown_bytes(source, trace.decision, ask)
        answers.check_shown(shown, nbytes, settings)
        weight = max(shown, nbytes // answers.BYTES_PER_TOOL)
        text = await beside(weight, answers.SHOWN_AT_ONCE, rich)
    else:
        text = answers.plain(trace.decision, newer)
    if service.shadow is not None:
        service.shadow.follow(source, ask, trace.decision)
    return Answer(text, answers.headers(trace))
