"""The paths of the service: a row for each method of each, and the router.

`openapi/parts.yaml` describes the rows.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

import msgspec

from toolscout.contract import answers, catalogs, learning, requests, tools
from toolscout.server.calls import catalog_reads, feedback, probes
from toolscout.server.calls.batch import filter_tools, resolve, search_batch
from toolscout.server.calls.catalogs import delete_catalog, get_catalog, patch_catalog, put_catalog
from toolscout.server.calls.hot import hot_tools
from toolscout.server.calls.search import search
from toolscout.server.http.answer import Answer
from toolscout.server.http.auth import KeyScope
from toolscout.server.http.request import Request
from toolscout.server.observe.record import Trace
from toolscout.server.service import Service

Handler = Callable[[Service, Request, Trace], Awaitable[Answer]]

_PARAMETER = re.compile(r"\{(\w+)\}")
_PATTERNS = {"tool": ".+"}
"""Patterns of a path's variable parts; a tool's name may have slashes."""


class Route(NamedTuple):
    """One method of one path."""

    method: str
    path: str
    """The path, with its variable parts in braces."""
    handler: Handler
    call: str
    """The name in metrics and log."""
    operation: str = ""
    """The operation id in the OpenAPI document, if it is not `call`."""
    scope: KeyScope = "search"
    """What a key must allow."""
    is_open: bool = False
    """Whether it needs neither key nor admission, and is not logged."""
    takes: tuple[type[msgspec.Struct], ...] = ()
    """Types of the body, one of which it has."""
    gives: tuple[type[msgspec.Struct], ...] = ()
    """Types of the answer, one of which it has."""


class Resource(NamedTuple):
    """The routes of one path."""

    path: str
    call: str
    is_open: bool
    handlers: Mapping[str, Handler]
    scopes: Mapping[str, KeyScope]
    """By method."""


class Router:
    """Finds the resource of a path."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.plain: dict[str, Resource] = {}
        """Resources by path, with and without a trailing slash."""
        self._variable: list[tuple[re.Pattern[str], Resource]] = []
        by_path: dict[str, list[Route]] = {}
        for route in routes:
            by_path.setdefault(route.path, []).append(route)
        for path, found in by_path.items():
            shown = path.rstrip("/") or "/"
            handlers = {route.method: route.handler for route in found}
            scopes = {route.method: route.scope for route in found}
            resource = Resource(shown, found[0].call, found[0].is_open, handlers, scopes)
            if "{" in path:
                self._variable.append((re.compile(_PARAMETER.sub(_group, path)), resource))
            else:
                self.plain |= {shown: resource, shown.rstrip("/") + "/": resource}

    def find(self, path: str) -> tuple[Resource | None, Mapping[str, str]]:
        """Return the resource of a path, if any, and the path's variable parts."""
        found = self.plain.get(path)
        if found is not None:
            return found, {}
        for pattern, resource in self._variable:
            match = pattern.fullmatch(path)
            if match is not None:
                return resource, match.groupdict()
        return None, {}


def _group(parameter: re.Match[str]) -> str:
    name = parameter[1]
    return f"(?P<{name}>{_PATTERNS.get(name, '[^/]+')})"


_BELOW = "/v1/tool-discovery/"
_LEARNING = "/v1/learning"
_CATALOG = "/v1/catalogs/{id}"

_search = partial(Route, handler=search, call="search", takes=(requests.SearchRequest,))
_feedback = partial(Route, scope="feedback", gives=(learning.FeedbackAnswer,))
_admin = partial(Route, scope="admin")
_read = partial(Route, call="catalog", gives=(catalogs.CatalogInfo,))
_write = partial(_read, scope="write")
_probe = partial(Route, is_open=True)

ROUTES: tuple[Route, ...] = (
    _search("POST", _BELOW + "search", gives=(answers.GatewayAnswer, answers.SearchAnswer)),
    _search(
        "POST",
        "/api/compress/tool-discovery/",
        operation="compress",
        gives=(answers.GatewayAnswer,),
    ),
    Route(
        "POST",
        _BELOW + "search:batch",
        search_batch,
        "batch",
        takes=(requests.BatchRequest,),
        gives=(answers.BatchAnswer,),
    ),
    Route(
        "POST",
        _BELOW + "resolve",
        resolve,
        "resolve",
        takes=(requests.ResolveRequest,),
        gives=(answers.ResolveAnswer,),
    ),
    Route(
        "POST",
        _BELOW + "filter",
        filter_tools,
        "filter",
        takes=(requests.FilterRequest,),
        gives=(answers.FilterAnswer,),
    ),
    Route(
        "POST",
        _BELOW + "hot",
        hot_tools,
        "hot",
        takes=(requests.HotRequest,),
        gives=(answers.HotAnswer,),
    ),
    _feedback(
        "POST",
        _BELOW + "feedback",
        feedback.feedback,
        "feedback",
        takes=(learning.FeedbackEvent, learning.FeedbackBatch),
    ),
    _feedback(
        "POST",
        _BELOW + "chains",
        feedback.report_chain,
        "chains",
        takes=(learning.ChainReport,),
    ),
    Route(
        "GET",
        _BELOW + "insights",
        feedback.show_insight,
        "insights",
        gives=(learning.InsightAnswer,),
    ),
    _admin("GET", "/v1/stats", probes.show_stats, "stats", gives=(answers.StatsAnswer,)),
    _admin("GET", _LEARNING, feedback.show_learning, "learning", gives=(learning.LearningAnswer,)),
    _admin("DELETE", _LEARNING, feedback.forget, "learning", "forget"),
    _probe("GET", "/healthz", probes.show_health, "healthz"),
    _probe("GET", "/readyz", probes.show_readiness, "readyz"),
    _probe("GET", "/metrics", probes.show_metrics, "metrics"),
    _read("GET", _CATALOG, get_catalog, operation="getCatalog"),
    _write("PUT", _CATALOG, put_catalog, operation="putCatalog", takes=(catalogs.CatalogPut,)),
    _write(
        "PATCH", _CATALOG, patch_catalog, operation="patchCatalog", takes=(catalogs.CatalogPatch,)
    ),
    _write("DELETE", _CATALOG, delete_catalog, operation="deleteCatalog", gives=()),
    Route(
        "GET",
        _CATALOG + "/tools",
        catalog_reads.list_tools,
        "tools",
        "listTools",
        gives=(catalogs.ToolPage,),
    ),
    Route(
        "POST",
        _CATALOG + "/tools:batch",
        catalog_reads.schemas,
        "schemas",
        "toolSchemas",
        takes=(catalogs.SchemasRequest,),
        gives=(catalogs.SchemasAnswer,),
    ),
    Route(
        "GET",
        _CATALOG + "/tools:complete",
        catalog_reads.completions,
        "completions",
        "completeNames",
        gives=(catalogs.CompletionAnswer,),
    ),
    Route(
        "GET",
        _CATALOG + "/tools/{tool}",
        catalog_reads.one_tool,
        "tool",
        "getTool",
        gives=(tools.ToolDetail,),
    ),
    Route(
        "GET",
        _CATALOG + "/index",
        catalog_reads.index,
        "index",
        "toolIndex",
        gives=(catalogs.IndexAnswer,),
    ),
    Route(
        "GET",
        _CATALOG + "/overview",
        catalog_reads.overview,
        "overview",
        gives=(catalogs.OverviewAnswer,),
    ),
)
