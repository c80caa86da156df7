"""The paths of the service: those that Litestar routes, and those that are looked up before it.

What carries tools, and the probes, are answered over bytes: the way through Litestar would cost a
search by digest 8 %. Everything else is a typed handler.
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from litestar import Litestar, Router
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute
from rapidfuzz.distance import OSA
from rapidfuzz.process import extractOne

from toolscout.contract import answers, requests
from toolscout.server.calls import catalog_reads, catalogs, feedback, probes
from toolscout.server.calls.batch import filter_tools, resolve, search_batch
from toolscout.server.calls.hot import hot_tools
from toolscout.server.calls.search import compress, search
from toolscout.server.calls.typed import Body, Call
from toolscout.server.http.answer import COMPRESS, Answer
from toolscout.server.http.request import Route

_KIND = re.compile(r":\w+(?=\})")
"""How Litestar writes the type of a path's variable part."""

Handler = Callable[..., Awaitable[Answer]]
"""Takes the service, the request and its trace, where it is looked up before Litestar."""


class Operation(NamedTuple):
    """One method of one path; its handler's docstring describes it."""

    method: str
    handler: Handler
    route: Route
    name: str = ""
    """The name and the tag of the operation."""
    tag: str = ""
    takes: Any = None
    """The type of the body."""
    gives: Any = None
    """The type of the answer, of several a union."""
    statuses: Sequence[int] = (200,)
    parameters: Sequence[dict[str, Any]] = ()

    @property
    def parameter_names(self) -> set[str]:
        """Return the names of its parameters."""
        return {parameter["name"] for parameter in self.parameters}


_BELOW = "/v1/tool-discovery"


def _tools(call: str, handler: Handler, takes: type, gives: Any, path: str = "") -> Operation:
    route = Route(path or f"{_BELOW}/{call}", call.rpartition(":")[2])
    name = handler.__name__ if path else route.call
    return Operation("POST", handler, route, name, "selection", takes, gives)


def _probe(call: str, handler: Handler) -> Operation:
    return Operation("GET", handler, Route(f"/{call}", call, is_open=True), call, "operation")


RAW: tuple[Operation, ...] = (
    _tools("search", search, requests.SearchRequest, answers.GatewayAnswer | answers.SearchAnswer),
    _tools("search", compress, requests.SearchRequest, answers.GatewayAnswer, COMPRESS),
    _tools("search:batch", search_batch, requests.BatchRequest, answers.BatchAnswer),
    _tools("resolve", resolve, requests.ResolveRequest, answers.ResolveAnswer),
    _tools("filter", filter_tools, requests.FilterRequest, answers.FilterAnswer),
    _tools("hot", hot_tools, requests.HotRequest, answers.HotAnswer),
    _probe("healthz", probes.healthz),
    _probe("readyz", probes.readyz),
    _probe("metrics", probes.metrics),
)


def typed() -> list[Router | HTTPRouteHandler]:
    """Return the handlers that Litestar routes."""
    router = partial(Router, dto=Body, return_dto=None)
    about_learning = partial(router, tags=["learning"], guards=[feedback.learning_is_on])
    reports = [feedback.feedback, feedback.chains, feedback.insights]
    of_catalogs = [*catalogs.HANDLERS, *catalog_reads.HANDLERS]
    return [
        about_learning(_BELOW, route_handlers=reports),
        about_learning("/v1/learning", route_handlers=[feedback.learning, feedback.forget]),
        probes.stats,
        router("/v1/catalogs/{id:str}", route_handlers=of_catalogs, tags=["catalogs"]),
    ]


MIN_SIMILARITY = 0.7
"""Share of letters in common from which a path may have been meant."""

MAX_COMPARED_CHARS = 128
"""Letters of a path that are compared."""


METHODS = ("GET", "PUT", "POST", "PATCH", "DELETE")
"""In the order of `Allow`."""

Patterns = Sequence[tuple[re.Pattern[str], Mapping[str, Route]]]
"""What whole paths match, and the route of each method there."""


def patterns(app: Litestar) -> Patterns:
    """Return the paths that an application routes; fixed ones may end in a slash."""
    routes: dict[str, dict[str, Route]] = {}
    for path, handler in handlers(app):
        by_method = routes.setdefault(path, {})
        by_method.update(dict.fromkeys(map(str, handler.http_methods), route_of(path, handler)))
    return [(re.compile(_pattern(path)), by_method) for path, by_method in routes.items()]


def _pattern(path: str) -> str:
    written = path.replace("{tool:path}", "(?P<tool>.+)")
    written = re.sub(r"\{(\w+):str\}", r"(?P<\1>[^/]+)", written)
    return written if written != path else f"{path.rstrip('/')}/?"


def handlers(app: Litestar) -> Iterator[tuple[str, HTTPRouteHandler]]:
    """Yield the handlers of an application, with their whole paths, by path and method."""
    for route in app.routes:
        handlers_of_route = route.route_handlers if isinstance(route, HTTPRoute) else ()
        for handler in sorted(handlers_of_route, key=lambda one: sorted(one.http_methods)):
            if "call" in handler.opt:  # no answer of Litestar's own to OPTIONS
                yield route.path, handler


def route_of(path: str, handler: HTTPRouteHandler) -> Route:
    """Return what a handler says of its path."""
    opt = handler.opt
    scope = opt.get("scope", "search")
    is_open = opt.get("is_open", False)
    return Route(shown_path(path), opt["call"], scope, is_open)


@cache
def api() -> Sequence[tuple[str, HTTPRouteHandler]]:
    """Return the typed handlers, with their whole paths."""
    app = Litestar(typed(), request_class=Call, openapi_config=None, logging_config=None)
    return list(handlers(app))


@cache
def paths() -> tuple[str, ...]:
    """Return the paths of the API, with their variable parts in braces."""
    routed = (shown_path(path) for path, _ in api())
    return tuple(dict.fromkeys([*(call.route.path for call in RAW), *routed]))


def shown_path(path: str) -> str:
    """Return a path as callers read it: without the types of its variable parts."""
    return _KIND.sub("", path)


def near_paths(path: str) -> list[str]:
    """Return the path of the service that an unknown one is most like; nothing if none is near."""
    nearest = extractOne(
        path[:MAX_COMPARED_CHARS],
        paths(),
        scorer=OSA.normalized_similarity,
        score_cutoff=MIN_SIMILARITY,
    )
    return [] if nearest is None else [nearest[0]]
