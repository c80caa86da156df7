"""What the tenant's searches came to, over HTTP."""

import msgspec

from toolscout.contract import LearningSize
from toolscout.server.http.exchange import Exchange
from toolscout.server.observe.trace import Trace
from toolscout.server.service import Service

_encode = msgspec.json.Encoder().encode


async def show_stats(service: Service, exchange: Exchange, trace: Trace) -> None:
    """What the tenant's searches came to."""
    service.records.write()
    learner = service.learner
    size = None
    if learner is not None:
        known = learner.experience(trace.tenant)
        size = LearningSize(known.observations, len(known))
    await exchange.answer(200, _encode(service.tally.of(trace.tenant, size, coarse=trace.coarse)))
