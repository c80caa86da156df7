"""Routes: what answers one method of one path, how it is described, and how it is found."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from toolscout.server.http.answer import Answer
from toolscout.server.http.request import Request
from toolscout.server.observe.trace import Trace
from toolscout.server.service import Service

Handler = Callable[[Service, Request, Trace], Awaitable[Answer]]
Parameters = Mapping[str, str]

_PARAMETER = re.compile(r"\{(\w+)\}")
_PATTERNS = {"tool": ".+"}
"""What a variable part of a path may be: a tool's name may have slashes in it."""


class Parameter(NamedTuple):
    """A parameter of the query string, for the description of its route."""

    name: str
    schema: dict[str, Any]
    description: str
    is_required: bool = False


@dataclass(frozen=True, kw_only=True)
class Route:
    """One method of one path. The OpenAPI document has those that have a summary."""

    method: str
    path: str
    """With its variable parts in braces."""
    handler: Handler
    call: str
    """Its name in metrics and log."""
    is_open: bool = False
    """Whether it needs neither key nor room, and leaves no line in the log."""
    operation: str = ""
    """Its name in the document, where that is not `call`."""
    tag: str = ""
    summary: str = ""
    description: str = ""
    takes: tuple[type[msgspec.Struct], ...] = ()
    """The body: one of these."""
    example: Any = None
    gives: tuple[type[msgspec.Struct], ...] = ()
    """The answer: one of these."""
    statuses: tuple[int, ...] = (200,)
    parameters: tuple[Parameter, ...] = ()
    is_conditional: bool = False
    """Whether `If-None-Match` is honoured."""
    responses: Mapping[str, Any] = field(default_factory=dict)
    """The description of the answers, where they are no struct."""


class Resource(NamedTuple):
    """Everything that one path answers."""

    path: str
    call: str
    is_open: bool
    handlers: Mapping[str, Handler]


class Router:
    """Finds what answers a path."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.plain: dict[str, Resource] = {}
        """By path, with and without a slash at its end."""
        self._variable: list[tuple[re.Pattern[str], Resource]] = []
        by_path: dict[str, list[Route]] = {}
        for route in routes:
            by_path.setdefault(route.path, []).append(route)
        for path, found in by_path.items():
            self._add(path, found)

    def find(self, path: str) -> tuple[Resource | None, Parameters]:
        """Return what answers a path, if anything does, and the path's variable parts."""
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
        resource = Resource(shown, first.call, first.is_open, handlers)
        if "{" in path:
            pattern = _PARAMETER.sub(_group, path)
            self._variable.append((re.compile(pattern), resource))
        else:
            self.plain |= {shown: resource, shown.rstrip("/") + "/": resource}


def _group(parameter: re.Match[str]) -> str:
    name = parameter[1]
    return f"(?P<{name}>{_PATTERNS.get(name, '[^/]+')})"
