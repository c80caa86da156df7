"""Probes and Prometheus metrics."""

from typing import Any

from litestar import get

from toolscout.contract.answers import LearningSize, StatsAnswer
from toolscout.ranking.native import extension
from toolscout.server.calls.typed import TypedRequest
from toolscout.server.http.answer import RawAnswer, answer_json
from toolscout.server.http.expiring import find_expiring
from toolscout.server.http.problems import Refused
from toolscout.server.http.request import LimitedRequest
from toolscout.server.observe.record import Trace
from toolscout.server.service import Service
from toolscout.state.health import examine

VERBOSE = b"verbose"
"""The parameter that asks for more, as of the probes of Kubernetes."""


async def healthz(service: Service, request: LimitedRequest, trace: Trace) -> RawAnswer:
    """Report that the process is alive.

    It answers, whatever it is doing.
    """
    return answer_json({"status": "ok"})


async def readyz(service: Service, request: LimitedRequest, trace: Trace) -> RawAnswer:
    """Report readiness.

    Model loaded, self-test ranked, not draining. The store does not count; with `?verbose` and a
    key, where there are keys, `store` says whether it works, `expiring` has the certificate and
    the tenant's keys that have expired or end within 14 days, and `ranking` whether its compiled
    part is used.
    """
    components = service.components()
    ready = all(components.values())
    body: dict[str, Any] = {"status": "ready" if ready else "not_ready", "components": components}
    is_verbose = VERBOSE in request.scope["query_string"]
    key = service.keyring.find(request.headers) if is_verbose else None
    if key is not None and not key.has_expired:
        certificate = service.settings.tls_cert
        body["ranking"] = extension.describe()
        body["expiring"] = find_expiring(service.keyring, certificate, key.tenant)
        body["store"] = "; ".join((await examine(service.guard.store)).texts) or "ok"
    return answer_json(body, status=200 if ready else 503)


async def metrics(service: Service, request: LimitedRequest, trace: Trace) -> RawAnswer:
    """Return the metrics, as Prometheus text or OpenMetrics.

    Needs a key only with `metrics_auth = on`.
    """
    if service.settings.metrics_auth:
        key = service.keyring.find(request.headers)
        if key is None or key.has_expired:
            raise Refused("unauthorized", "metrics_auth is on: send Authorization: Bearer KEY")
    service.records.write()
    text, media = service.metrics.render(request.header(b"accept").decode("latin-1"))
    return RawAnswer(text, media=media.encode())


@get("/v1/stats", call="stats", scope="admin", tags=["learning"])
async def stats(request: TypedRequest) -> StatsAnswer:
    """Return figures of use.

    Of this process, since it started.
    """
    service = request.service
    trace = request.trace
    size = None
    if service.learner is not None:
        experience = service.learner.experience(trace.tenant)
        size = LearningSize(experience.observations, len(experience))
    return service.records.stats(trace.tenant, size, coarse=trace.coarse)
