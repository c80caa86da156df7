"""Errors of the protocol: what is wrong with a message, as the specification's codes."""

from collections.abc import Awaitable
from http import HTTPStatus
from typing import TypeVar

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolscout.server.http.problems import CODES
from toolscout.server.http.refusals import REFUSALS, refusal

T = TypeVar("T")

RESOURCE_NOT_FOUND = -32002
"""The code of revisions before 2026-07-28, which uses `INVALID_PARAMS`."""


async def or_error(answer: Awaitable[T]) -> T:
    """Await an answer to a message.

    Raises:
        MCPError: the caller made a mistake (-32602), or the service cannot answer (-32603).
    """
    try:
        return await answer
    except ValueError as error:
        raise MCPError(INVALID_PARAMS, str(error)) from None
    except REFUSALS as error:
        refused = refusal(error)
        is_theirs = CODES[refused.code].status < HTTPStatus.INTERNAL_SERVER_ERROR
        raise MCPError(INVALID_PARAMS if is_theirs else INTERNAL_ERROR, refused.detail) from None


def no_resource(uri: str, revision: str, message: str = "there is no such resource") -> MCPError:
    """Make the error for a resource that does not exist."""
    code = INVALID_PARAMS if revision in MODERN_PROTOCOL_VERSIONS else RESOURCE_NOT_FOUND
    return MCPError(code, message, {"uri": uri})
