"""Routes: handlers of methods and paths, and the router."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple

import msgspec

from toolscout.server.http.answer import Answer
from toolscout.server.http.auth import KeyScope
from toolscout.server.http.request import Request
from toolscout.server.observe.trace import Trace
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
