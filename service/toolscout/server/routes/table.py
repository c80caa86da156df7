"""The paths of the service: a row for each method of each, and the router.

`openapi/parts.yaml` describes the rows.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from rapidfuzz.distance import OSA
from rapidfuzz.process import extractOne

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
    takes: Any = None
    """The type of the body, of several a union; None if it has none."""
    gives: Any = None
    """The type of the answer, likewise."""
    operation: str = ""
    """The operation id in the OpenAPI document, if it is not `call`."""
    scope: KeyScope = "search"
    """What a key must allow."""
    is_open: bool = False
    """Whether it needs neither key nor admission, and is not logged."""


class Resource(NamedTuple):
    """The routes of one path."""

    path: str
    call: str
    is_open: bool
    routes: Mapping[str, Route]
    """By method."""


LIKE, LONGEST_PATH = 0.7, 128
"""Share of letters in common from which a path may have been meant, and letters compared."""


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
            by_method = {route.method: route for route in found}
            resource = Resource(shown, found[0].call, found[0].is_open, by_method)
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


def near_paths(path: str) -> list[str]:
    """Return the path of the service that an unknown one is most like; nothing if none is near."""
    found = extractOne(
        path[:LONGEST_PATH], PATHS, scorer=OSA.normalized_similarity, score_cutoff=LIKE
    )
    return [] if found is None else [found[0]]


_BELOW = "/v1/tool-discovery/"
_LEARNING = "/v1/learning"
_CATALOG = "/v1/catalogs/{id}"

_get = partial(Route, "GET")
_post = partial(Route, "POST")
_search = partial(_post, handler=search, call="search", takes=requests.SearchRequest)
_report = partial(_post, scope="feedback", gives=learning.FeedbackAnswer)
_admin = partial(Route, scope="admin")
_write = partial(Route, path=_CATALOG, call="catalog", scope="write", gives=catalogs.CatalogInfo)
_probe = partial(_get, is_open=True)


def _read(end: str, handler: Handler, call: str, gives: type, operation: str = "") -> Route:
    """Return the row of a path below that of a catalog."""
    return Route("GET", _CATALOG + end, handler, call, None, gives, operation)


ROUTES: tuple[Route, ...] = (
    _search(_BELOW + "search", gives=answers.GatewayAnswer | answers.SearchAnswer),
    _search("/api/compress/tool-discovery/", operation="compress", gives=answers.GatewayAnswer),
    _post(
        _BELOW + "search:batch", search_batch, "batch", requests.BatchRequest, answers.BatchAnswer
    ),
    _post(_BELOW + "resolve", resolve, "resolve", requests.ResolveRequest, answers.ResolveAnswer),
    _post(_BELOW + "filter", filter_tools, "filter", requests.FilterRequest, answers.FilterAnswer),
    _post(_BELOW + "hot", hot_tools, "hot", requests.HotRequest, answers.HotAnswer),
    _report(
        _BELOW + "feedback",
        feedback.feedback,
        "feedback",
        learning.FeedbackEvent | learning.FeedbackBatch,
    ),
    _report(_BELOW + "chains", feedback.report_chain, "chains", learning.ChainReport),
    _get(_BELOW + "insights", feedback.show_insight, "insights", gives=learning.InsightAnswer),
    _admin("GET", "/v1/stats", probes.show_stats, "stats", gives=answers.StatsAnswer),
    _admin("GET", _LEARNING, feedback.show_learning, "learning", gives=learning.LearningAnswer),
    _admin("DELETE", _LEARNING, feedback.forget, "learning", operation="forget"),
    _probe("/healthz", probes.show_health, "healthz"),
    _probe("/readyz", probes.show_readiness, "readyz"),
    _probe("/metrics", probes.show_metrics, "metrics"),
    _write("GET", handler=get_catalog, operation="getCatalog", scope="search"),
    _write("PUT", handler=put_catalog, operation="putCatalog", takes=catalogs.CatalogPut),
    _write("PATCH", handler=patch_catalog, operation="patchCatalog", takes=catalogs.CatalogPatch),
    _write("DELETE", handler=delete_catalog, operation="deleteCatalog", gives=None),
    _read("/tools", catalog_reads.list_tools, "tools", catalogs.ToolPage, "listTools"),
    _post(
        _CATALOG + "/tools:batch",
        catalog_reads.schemas,
        "schemas",
        catalogs.SchemasRequest,
        catalogs.SchemasAnswer,
        "toolSchemas",
    ),
    _read(
        "/tools:complete",
        catalog_reads.completions,
        "completions",
        catalogs.CompletionAnswer,
        "completeNames",
    ),
    _read("/tools/{tool}", catalog_reads.one_tool, "tool", tools.ToolDetail, "getTool"),
    _read("/index", catalog_reads.index, "index", catalogs.IndexAnswer, "toolIndex"),
    _read("/overview", catalog_reads.overview, "overview", catalogs.OverviewAnswer),
)

PATHS = tuple(dict.fromkeys(route.path.rstrip("/") or "/" for route in ROUTES))
"""The paths, with their variable parts in braces."""
