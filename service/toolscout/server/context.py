"""What is known of the request that is being answered, for guards, handlers and errors."""

from typing import NamedTuple, cast

from litestar.types import Scope

from toolscout.server.http.request import LimitedRequest
from toolscout.server.observe.record import Trace
from toolscout.server.service import Service

_KEY = "toolscout"
"""Where it lies in the state of a connection."""


class RequestContext(NamedTuple):
    """A request, and who answers it."""

    service: Service
    """The parts of this process."""
    request: LimitedRequest
    """The request as it is read within its limits."""
    trace: Trace
    """What metrics and log will tell of it."""


def keep_context(scope: Scope, context: RequestContext) -> None:
    """Put it where all that answer the request find it."""
    scope.setdefault("state", {})[_KEY] = context


def context_of(scope: Scope) -> RequestContext:
    """Return what is known of the request of a connection."""
    return cast(RequestContext, scope["state"][_KEY])
