"""The paths of the service and what answers them."""

from typing import Any

from litestar import MediaType, Request, Response, get
from litestar.datastructures import State

from toolscout.server import docs
from toolscout.server.exchange import Refused
from toolscout.server.metrics import CONTENT_TYPE
from toolscout.server.openapi import document
from toolscout.server.service import Service


@get("/healthz", sync_to_thread=False)
def healthz() -> dict[str, str]:
    """Alive: the process answers."""
    return {"status": "ok"}


@get("/readyz", sync_to_thread=False)
def readyz(state: State) -> Response[dict[str, Any]]:
    """Ready for traffic: model loaded, self-test ranked, not draining. No outside store counts."""
    service: Service = state.service
    components = service.components()
    ready = all(components.values())
    body = {"status": "ready" if ready else "not_ready", "components": components}
    return Response(body, status_code=200 if ready else 503)


@get("/metrics", sync_to_thread=False)
def metrics(request: Request[Any, Any, Any], state: State) -> Response[bytes]:
    """Prometheus text."""
    service: Service = state.service
    if service.settings.metrics_auth and service.keyring.tenant(request.scope["headers"]) is None:
        raise Refused("unauthorized", "metrics_auth is on: send Authorization: Bearer KEY")
    return Response(service.render_metrics(), media_type=CONTENT_TYPE)


@get("/openapi.json", sync_to_thread=False)
def openapi_json() -> Response[dict[str, Any]]:
    """The OpenAPI document."""
    return Response(document(), media_type=MediaType.JSON)


HANDLERS = [healthz, readyz, metrics, openapi_json, docs.page, docs.asset]

SEARCH_PATHS = (
    "/v1/tool-discovery/search",
    "/v1/tool-discovery/search/",
    "/api/compress/tool-discovery",
    "/api/compress/tool-discovery/",
)
"""Answered before any routing: for a small body, routing costs as much as the ranking."""
