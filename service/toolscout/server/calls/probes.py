"""Probes and Prometheus metrics."""

from toolscout.contract.answers import LearningSize
from toolscout.server.http.answer import Answer, answer_json
from toolscout.server.http.problems import Refused
from toolscout.server.http.request import Request
from toolscout.server.observe.record import Trace
from toolscout.server.service import Service


async def show_health(service: Service, request: Request, trace: Trace) -> Answer:
    """Report that the process is alive."""
    return answer_json({"status": "ok"})


async def show_readiness(service: Service, request: Request, trace: Trace) -> Answer:
    """Report readiness: model loaded, self-test passed, not draining. The store does not count."""
    components = service.components()
    ready = all(components.values())
    body = {"status": "ready" if ready else "not_ready", "components": components}
    return answer_json(body, status=200 if ready else 503)


async def show_metrics(service: Service, request: Request, trace: Trace) -> Answer:
    """Return the metrics, as Prometheus text or OpenMetrics.

    Raises:
        Refused: a key is required and missing.
    """
    if service.settings.metrics_auth:
        key = service.keyring.find(request.headers)
        if key is None or key.has_expired:
            raise Refused("unauthorized", "metrics_auth is on: send Authorization: Bearer KEY")
    service.records.write()
    text, media = service.metrics.render(request.header(b"accept").decode("latin-1"))
    return Answer(text, media=media.encode())


async def show_stats(service: Service, request: Request, trace: Trace) -> Answer:
    """Return the usage statistics of the tenant."""
    learner = service.learner
    size = None
    if learner is not None:
        known = learner.experience(trace.tenant)
        size = LearningSize(known.observations, len(known))
    return answer_json(service.records.stats(trace.tenant, size, coarse=trace.coarse))
