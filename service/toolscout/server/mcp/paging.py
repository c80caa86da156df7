"""Pages of the lists that the MCP facade offers."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from bisect import bisect_right
from collections.abc import Sequence

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, PaginatedRequestParams

_AFTER = "after:"


def page_of(
    names: Sequence[str], params: PaginatedRequestParams | None, size: int
) -> tuple[Sequence[str], str | None]:
    """Return a page of sorted names, and the cursor of the next one; None after the last.

    A cursor names the last name of its page, so that names may come and go between two pages.

    Raises:
        MCPError: the cursor is malformed.
    """
    cursor = params.cursor if params else None
    start = 0 if cursor is None else bisect_right(names, _last_name(cursor))
    page = names[start : start + size]
    if start + size >= len(names):
        return page, None
    return page, urlsafe_b64encode(f"{_AFTER}{page[-1]}".encode()).decode()


def check_only_page(params: PaginatedRequestParams | None) -> None:
    """Check that no further page is asked for of a list that has one.

    Raises:
        MCPError: there is a cursor.
    """
    if params and params.cursor is not None:
        raise _no_cursor()


def _last_name(cursor: str) -> str:
    try:
        text = urlsafe_b64decode(cursor.encode()).decode()
    except (NotBase64, ValueError):
        text = ""
    if not text.startswith(_AFTER):
        raise _no_cursor()
    return text.removeprefix(_AFTER)


def _no_cursor() -> MCPError:
    return MCPError(INVALID_PARAMS, "cursor: not one of this list; begin again without a cursor")
