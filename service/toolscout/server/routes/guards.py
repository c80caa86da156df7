"""What a request must have before its body is read: a path, a key, a scope, a rate and room."""

from math import ceil
from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.types import Scope

from toolscout.server.calls import lookup
from toolscout.server.compiling import work_threads
from toolscout.server.context import context_of
from toolscout.server.http.auth import explain_refusal
from toolscout.server.http.problems import Refused
from toolscout.server.http.request import LimitedRequest, Route
from toolscout.server.observe.record import Trace
from toolscout.server.routes.written import find_route
from toolscout.server.service import Service

Connection = ASGIConnection[Any, Any, Any, Any]


async def admit(connection: Connection, handler: BaseRouteHandler) -> None:
    """Guard typed handlers; see `check_head`."""
    request = context_of(connection.scope).request
    if len(request.by_name) < len(request.headers):
        connection.scope["headers"] = list(request.by_name.items())  # the last one counts
    check_head(connection.scope, handler)


def check_head(scope: Scope, handler: BaseRouteHandler) -> None:
    """Check the head of a request that has a handler, and give it a slot.

    Raises:
        Refused: it must not be answered, or not now. Its body is not awaited.
    """
    service, request, trace = context_of(scope)
    request.route = route = find_route(scope, handler)
    if not route.is_open:
        check_origin(service, request)
        check_key(service, request, trace, route)
        take_rate(service, trace)
        take_room(service, request, trace)
    request.is_admitted = True
    name = scope["path_params"].get("id")
    if name is not None:
        lookup.check_name(name)


def check_origin(service: Service, request: LimitedRequest) -> None:
    """Check that the service still takes requests, and that no foreign web page sends this one.

    Raises:
        Refused: it does not, or one does.
    """
    if service.stopping:
        service.metrics.shed.labels("draining").inc()
        raise Refused("draining", "try again shortly")
    is_keyless = not len(service.keyring)
    foreign = service.callers.refusal(
        request.header(b"host"), request.header(b"origin"), is_keyless=is_keyless
    )
    if foreign is not None:
        raise Refused(*foreign)
    if is_keyless and request.has_body and not request.header(b"content-type"):
        # A page cannot declare JSON to another origin without its permission.
        raise Refused("unsupported_media_type", "send Content-Type: application/json")


def check_key(service: Service, request: LimitedRequest, trace: Trace, route: Route) -> None:
    """Find the key of a request, and with it the tenant.

    Raises:
        Refused: it has none that is valid, or one without the scope that the route needs.
    """
    key = service.keyring.find(request.headers)
    if key is None:
        raise Refused("unauthorized", explain_refusal(request.headers))
    trace.tenant = key.tenant
    trace.space = key.space
    trace.key = key.name
    if key.has_expired:
        raise Refused("unauthorized", f"this key expired at {key.expires}")
    if route.scope not in key.scopes:
        scopes = ", ".join(sorted(key.scopes))
        raise Refused(
            "forbidden", f"this needs a key with the scope {route.scope}; yours has {scopes}"
        )
    work_threads.TENANT.set(key.tenant)
    trace.coarse = service.keyring.is_shared


def take_rate(service: Service, trace: Trace) -> None:
    """Count a request of its tenant.

    Raises:
        Refused: there were too many of late.
    """
    wait = service.rate_limit.take(trace.tenant)
    if wait:
        retry = [(b"retry-after", b"%d" % ceil(wait))]
        raise Refused("rate_limited", "try again later", headers=retry)


def take_room(service: Service, request: LimitedRequest, trace: Trace) -> None:
    """Give a request a slot, which `endpoint` frees.

    Raises:
        Refused: too many are being answered.
    """
    entered = service.admission.enter(trace.tenant)
    if isinstance(entered, str):
        service.metrics.shed.labels(entered).inc()
        raise Refused("overloaded", "try again shortly")
    request.slot = entered
