"""The paths of the service and what answers them."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from litestar import MediaType, Request, Response, get
from litestar.datastructures import State

from toolscout.server.calls import catalog_reads
from toolscout.server.calls.batch import filter_tools, resolve, search_batch
from toolscout.server.calls.catalogs import delete_catalog, get_catalog, patch_catalog, put_catalog
from toolscout.server.calls.feedback import (
    feedback,
    forget,
    report_chain,
    show_insight,
    show_learning,
)
from toolscout.server.calls.hot import hot_tools
from toolscout.server.calls.search import search
from toolscout.server.calls.stats import show_stats
from toolscout.server.http.exchange import Exchange, Refused
from toolscout.server.observe.metrics import CONTENT_TYPE
from toolscout.server.observe.trace import Trace
from toolscout.server.openapi import pages
from toolscout.server.openapi.document import document
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
    return Response(document(), media_type=MediaType.JSON, headers=pages.NO_SNIFFING)


HANDLERS = [healthz, readyz, metrics, openapi_json, pages.page, pages.errors, pages.asset]


Answer = Callable[[Service, Exchange, Trace], Awaitable[None]]


class Call(NamedTuple):
    """What answers a path that is served without a framework, and its name in metrics and log."""

    name: str
    methods: Mapping[str, Answer]


def _post(name: str, answer: Answer) -> Call:
    return Call(name, {"POST": answer})


_BELOW = "/v1/tool-discovery/"
_SEARCH = _post("search", search)
_CALLS = {
    _BELOW + "search": _SEARCH,
    "/api/compress/tool-discovery": _SEARCH,
    _BELOW + "search:batch": _post("batch", search_batch),
    _BELOW + "resolve": _post("resolve", resolve),
    _BELOW + "filter": _post("filter", filter_tools),
    _BELOW + "hot": _post("hot", hot_tools),
    _BELOW + "feedback": _post("feedback", feedback),
    _BELOW + "chains": _post("chains", report_chain),
    _BELOW + "insights": Call("insights", {"GET": show_insight}),
    "/v1/stats": Call("stats", {"GET": show_stats}),
    "/v1/learning": Call("learning", {"GET": show_learning, "DELETE": forget}),
}
CALLS = _CALLS | {path + "/": call for path, call in _CALLS.items()}
"""Answered before any routing: for a small body, routing costs as much as the ranking."""

_ID = r"/v1/catalogs/(?P<id>[^/]+)"
"""Any id: which ones are allowed is told by the answer to others."""

_PATTERNS = tuple(
    (re.compile(pattern), Call(name, methods))
    for pattern, name, methods in (
        (
            _ID,
            "catalog",
            {
                "GET": get_catalog,
                "PUT": put_catalog,
                "PATCH": patch_catalog,
                "DELETE": delete_catalog,
            },
        ),
        (_ID + "/tools", "tools", {"GET": catalog_reads.list_tools}),
        (_ID + "/tools:batch", "schemas", {"POST": catalog_reads.schemas}),
        (_ID + "/tools:complete", "completions", {"GET": catalog_reads.completions}),
        (_ID + "/tools/(?P<tool>.+)", "tool", {"GET": catalog_reads.one_tool}),
        (_ID + "/index", "index", {"GET": catalog_reads.index}),
        (_ID + "/overview", "overview", {"GET": catalog_reads.overview}),
    )
)


_TEMPLATES = {
    call.name: re.sub(r"\(\?P<(\w+)>[^)]*\)", r"{\1}", pattern.pattern)
    for pattern, call in _PATTERNS
}


def route(call: Call, path: str) -> str:
    """A path with its variable parts, which may be names of tools, replaced by what they are."""
    return _TEMPLATES.get(call.name) or path.rstrip("/")


def find_call(path: str) -> tuple[Call, Mapping[str, str]] | None:
    """What answers a path, and what stands in its variable parts; None for the framework's."""
    call = CALLS.get(path)
    if call is not None:
        return call, {}
    if path.startswith("/v1/catalogs/"):
        for pattern, found in _PATTERNS:
            match = pattern.fullmatch(path)
            if match is not None:
                return found, match.groupdict()
    return None
