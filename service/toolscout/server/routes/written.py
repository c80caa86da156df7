"""Paths as callers wrote them.

Litestar merges slashes before it looks for a handler, and with them catalogs and tools of other
names. So a path's parameters are read from what was written, and other paths must equal it.
"""

from litestar import Litestar
from litestar.handlers import BaseRouteHandler
from litestar.types import Scope
from litestar.utils import normalize_path

from toolscout.server.calls.typed import TypedRequest
from toolscout.server.context import context_of
from toolscout.server.http.problems import Refused
from toolscout.server.http.request import Route
from toolscout.server.routes.table import (
    find_routes,
    refuse_others,
    refuse_path,
    route_of,
)

SLASHES_BEFORE_TOOL = 5
"""Slashes of `/v1/catalogs/{id}/tools/{tool}` before the name of a tool."""


def find_route(scope: Scope, handler: BaseRouteHandler) -> Route:
    """Return what a handler says of its path.

    Raises:
        Refused: the path is another one as it was written, or the handler is for another method.
    """
    restore_path(scope)
    path_format = scope["path_template"]
    route = route_of(path_format, handler)
    method = context_of(scope).request.method
    if route is None or method != handler.opt.get("method", method):
        raise refuse_method(scope, path_format)
    return route


def restore_path(scope: Scope) -> None:
    """Take the parameters of a path as they were written. One without any may end in a slash.

    Raises:
        Refused: the path is another one as it was written.
    """
    written = context_of(scope).request.path
    path = scope["path"]
    parameters = scope["path_params"]
    if "tool" in parameters:
        *before, tool = written.split("/", SLASHES_BEFORE_TOOL)
        is_same = len(before) == SLASHES_BEFORE_TOOL and all(before[1:])
        scope["path_params"] = {**parameters, "tool": tool}
    elif parameters:
        is_same = written == path
    else:
        is_same = written.removesuffix("/") == path.removesuffix("/")
    if not is_same:
        raise refuse_path(written)


def refuse_method(scope: Scope, path_format: str) -> Refused:
    """Refuse the method of a request, which counts as a call of the first one that there is."""
    by_method = find_routes(Litestar.from_scope(scope), path_format)
    context_of(scope).request.route = next(iter(by_method.values()))
    return refuse_others(by_method)


def explain_method(call: TypedRequest) -> Refused:
    """Refuse a request that Litestar found a path for, and no handler of its method."""
    scope = call.scope
    path = normalize_path(context_of(scope).request.path)
    found = call.app.asgi_router.handle_routing(path=path, method="OPTIONS")
    _, _, scope["path"], scope["path_params"], path_format = found
    try:
        restore_path(scope)
    except Refused as refused:
        return refused
    return refuse_method(scope, path_format)
