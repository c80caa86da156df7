"""Usage statistics of one tenant, over HTTP."""

from toolscout.contract import LearningSize
from toolscout.server.http.answer import Answer, answer_json
from toolscout.server.http.request import Request
from toolscout.server.observe.trace import Trace
from toolscout.server.service import Service


async def show_stats(service: Service, request: Request, trace: Trace) -> Answer:
    """Return the usage statistics of the tenant."""
    service.records.write()
    learner = service.learner
    size = None
    if learner is not None:
        known = learner.experience(trace.tenant)
        size = LearningSize(known.observations, len(known))
    return answer_json(service.tally.of(trace.tenant, size, coarse=trace.coarse))
