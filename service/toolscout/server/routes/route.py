"""Routes: handlers of methods and paths, their descriptions, and the router."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from toolscout.server.http.answer import Answer
from toolscout.server.http.auth import KeyScope
from toolscout.server.http.request import Request
from toolscout.server.observe.trace import Trace
from toolscout.server.service import Service

Handler = Callable[[Service, Request, Trace], Awaitable[Answer]]
Parameters = Mapping[str, str]

_PARAMETER = re.compile(r"\{(\w+)\}")
_PATTERNS = {"tool": ".+"}
"""Patterns of a path's variable parts; a tool's name may have slashes."""


class Parameter(NamedTuple):
    """A parameter of the query string, for the description of its route."""

    name: str
    schema: dict[str, Any]
    description: str
    is_required: bool = False


@dataclass(frozen=True, kw_only=True)
class Route:
    """One method of one path. The OpenAPI document contains routes with a summary."""

    method: str
    path: str
    """The path, with its variable parts in braces."""
    handler: Handler
    call: str
    """The name in metrics and log."""
    scope: KeyScope = "search"
    """What a key must allow."""
    is_open: bool = False
    """Whether it needs neither key nor admission, and is not logged."""
    operation: str = ""
    """The operation id in the document, if it is not `call`."""
    tag: str = ""
    summary: str = ""
    description: str = ""
    takes: tuple[type[msgspec.Struct], ...] = ()
    """Types of the body, one of which it has."""
    example: Any = None
    gives: tuple[type[msgspec.Struct], ...] = ()
    """Types of the answer, one of which it has."""
    statuses: tuple[int, ...] = (200,)
    parameters: tuple[Parameter, ...] = ()
    is_conditional: bool = False
    """Whether `If-None-Match` is honoured."""
    responses: Mapping[str, Any] = field(default_factory=dict)
    """Descriptions of answers that are no structs."""


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
            self._add(path, found)

    def find(self, path: str) -> tuple[Resource | None, Parameters]:
        """Return the resource of a path, if any, and the path's variable parts."""
        found = self.plain.get(path)
        if found is not None:
            return found, {}
        for pattern, resource in self._variable:
            match = pattern.fullmatch(path)
            if match is not None:
                return resource, match.groupdict()
        return None, {}

    def _add(self, path: str, routes: Sequence[Route]) -> None:
        first = routes[0]
        shown = path.rstrip("/") or "/"
        handlers = {route.method: route.handler for route in routes}
        scopes = {route.method: route.scope for route in routes}
        resource = Resource(shown, first.call, first.is_open, handlers, scopes)
        if "{" in path:
            pattern = _PARAMETER.sub(_group, path)
            self._variable.append((re.compile(pattern), resource))
        else:
            self.plain |= {shown: resource, shown.rstrip("/") + "/": resource}


def _group(parameter: re.Match[str]) -> str:
    name = parameter[1]
    return f"(?P<{name}>{_PATTERNS.get(name, '[^/]+')})"
