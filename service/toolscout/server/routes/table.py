"""The handlers of the service, all in Litestar's table: raw ones, and typed ones.

What carries tools, and the probes, are answered over bytes: decoding a signature and encoding a
response would cost a search by digest 8 %. Everything else is a typed handler.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, cast

from litestar import Litestar, Router
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler
from litestar.routes import ASGIRoute, HTTPRoute
from rapidfuzz.distance import OSA
from rapidfuzz.process import extractOne

from toolscout.contract import answers, requests
from toolscout.server.calls import catalog_reads, catalogs, feedback, probes
from toolscout.server.calls.batch import filter_tools, resolve, search_batch
from toolscout.server.calls.hot import show_hot
from toolscout.server.calls.search import compress, search
from toolscout.server.calls.typed import BodyDecoder, TypedRequest
from toolscout.server.http.answer import COMPRESS, RawAnswer
from toolscout.server.http.problems import Refused
from toolscout.server.http.request import Route

Handler = Callable[..., Awaitable[RawAnswer]]
"""Takes the service, the request and its trace, where it is a raw one."""


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


def _make_operation(
    call: str, handler: Handler, takes: type, gives: Any, path: str = ""
) -> Operation:
    route = Route(path or f"{_BELOW}/{call}", call.rpartition(":")[2])
    name = handler.__name__ if path else route.call
    return Operation("POST", handler, route, name, "selection", takes, gives)


def _probe(call: str, handler: Handler) -> Operation:
    return Operation("GET", handler, Route(f"/{call}", call, is_open=True), call, "operation")


RAW: tuple[Operation, ...] = (
    _make_operation(
        "search", search, requests.SearchRequest, answers.GatewayAnswer | answers.SearchAnswer
    ),
    _make_operation("search", compress, requests.SearchRequest, answers.GatewayAnswer, COMPRESS),
    _make_operation("search:batch", search_batch, requests.BatchRequest, answers.BatchAnswer),
    _make_operation("resolve", resolve, requests.ResolveRequest, answers.ResolveAnswer),
    _make_operation("filter", filter_tools, requests.FilterRequest, answers.FilterAnswer),
    _make_operation("hot", show_hot, requests.HotRequest, answers.HotAnswer),
    _probe("healthz", probes.healthz),
    _probe("readyz", probes.readyz),
    _probe("metrics", probes.metrics),
)


def make_typed_routers() -> list[Router | HTTPRouteHandler]:
    """Return the handlers that Litestar routes."""
    router = partial(Router, dto=BodyDecoder, return_dto=None)
    about_learning = partial(router, tags=["learning"], guards=[feedback.require_learning])
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


def route_of(path_format: str, handler: BaseRouteHandler) -> Route | None:
    """Return what a handler says of its path; None for Litestar's own answer to OPTIONS."""
    opt = handler.opt
    if "route" in opt:
        return cast(Route, opt["route"])
    if "call" not in opt:
        return None
    return Route(path_format, opt["call"], opt.get("scope", "search"), opt.get("is_open", False))


def find_routes(app: Litestar, path_format: str) -> Mapping[str, Route]:
    """Return what each method of a path leads to."""
    found: dict[str, Route] = {}
    for handler in _find_handlers(app, path_format):
        route = route_of(path_format, handler)
        if route is not None:
            found |= dict.fromkeys(_list_methods(handler), route)
    return found


def _list_methods(handler: BaseRouteHandler) -> list[str]:
    if isinstance(handler, HTTPRouteHandler):
        return sorted(map(str, handler.http_methods))
    return [handler.opt["method"]]


def _find_handlers(app: Litestar, path_format: str) -> Iterator[BaseRouteHandler]:
    for route in app.routes:
        if route.path_format != path_format:
            continue
        if isinstance(route, HTTPRoute):
            yield from sorted(route.route_handlers, key=_list_methods)
        elif isinstance(route, ASGIRoute):
            yield route.route_handler


@cache
def list_typed() -> Sequence[tuple[Route, HTTPRouteHandler]]:
    """Return the typed handlers, by path and method, and what they say of their paths."""
    app = Litestar(
        make_typed_routers(), request_class=TypedRequest, openapi_config=None, logging_config=None
    )
    return [
        (route, handler)
        for path in dict.fromkeys(route.path_format for route in app.routes)
        for handler in _find_handlers(app, path)
        if isinstance(handler, HTTPRouteHandler) and (route := route_of(path, handler)) is not None
    ]


@cache
def list_paths() -> tuple[str, ...]:
    """Return the paths of the API, with their variable parts in braces."""
    routes = [*(operation.route for operation in RAW), *(route for route, _ in list_typed())]
    return tuple(dict.fromkeys(route.path for route in routes))


def refuse_path(path: str) -> Refused:
    """Refuse an unknown path; suggest the most similar known one."""
    nearest = extractOne(
        path[:MAX_COMPARED_CHARS],
        list_paths(),
        scorer=OSA.normalized_similarity,
        score_cutoff=MIN_SIMILARITY,
    )
    near = [] if nearest is None else [nearest[0]]
    return Refused("not_found", f"a search is POST {list_paths()[0]}", suggestions=near)


def refuse_others(methods: Mapping[str, Route]) -> Refused:
    """Refuse a method of a path that answers these."""
    allowed = [method for method in METHODS if method in methods]
    headers = [(b"allow", ", ".join(allowed).encode())]
    return Refused("method_not_allowed", f"send a {' or '.join(allowed)} request", headers=headers)
