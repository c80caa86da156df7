"""Write tools into a catalog of a service: a list as a whole, or a file of very many one by one.

Those that PostgreSQL keeps tool by tool go a thousand at a time, so that it can be stopped and
begun again: what is there already is not written anew.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import httpx2

from toolscout.commands.searching import open_service
from toolscout.common.counted import list_first_names, write_count
from toolscout.errors import ConfigurationError, ToolscoutError

AT_A_TIME = 1_000
"""Tools of one request, and of one page of the catalog that is there already."""

MAX_NAMED = 10
"""Tools of one kind of change that are named; the others are counted."""

USAGE = ("uses", "success_rate", "typical_duration_ms")
"""Keys that say how a tool was used, not what it is."""

Tools = Mapping[str, Mapping[str, Any]]
"""What a catalog has of each tool, by name, as far as it is compared."""


def register(tools: Sequence[Any], catalog: str, url: str) -> str:
    """Register a list of tools, and return what has changed, a line for each kind.

    Raises:
        ConfigurationError: the service cannot be reached, or refuses.
    """
    with open_service(url) as client:
        before = _find_registered(client, catalog)
        client.put(f"/v1/catalogs/{catalog}", json={"tools": tools}).raise_for_status()
        after = _find_registered(client, catalog)
    return "\n".join(_report(catalog, before, after))


def write_each(tools: Iterable[Any], catalog: str, url: str) -> str:
    """Write tools one by one, a thousand at a time, and say how many there are then.

    Progress goes to standard error.

    Raises:
        ConfigurationError: they cannot be read, or the service refuses or is not there; says how
            many were written before.
    """
    sent = 0
    total = 0
    left = iter(tools)
    try:
        with open_service(url) as client:
            while some := list(islice(left, AT_A_TIME)):
                total = _write(client, f"/v1/catalogs/{catalog}", some)
                sent += len(some)
                sys.stderr.write(f"{catalog}: {write_count(sent, 'tool')} written\n")
    except ToolscoutError as error:
        raise ConfigurationError(f"after {write_count(sent, 'tool')}: {error}") from None
    return f"{catalog}: {write_count(total, 'tool')}"


def is_keeping_each(catalog: str, url: str) -> bool:
    """Whether a service keeps the tools of a catalog one by one, in PostgreSQL."""
    with open_service(url) as client:
        return _find_kept(client, f"/v1/catalogs/{catalog}") == "postgres"


def _find_kept(client: httpx2.Client, path: str) -> str | None:
    """Return how a catalog is kept, `whole` or in `postgres`; None if there is none."""
    answer = client.get(path)
    return answer.json().get("keep", "whole") if answer.is_success else None


def _write(client: httpx2.Client, path: str, tools: Sequence[Mapping[str, Any]]) -> int:
    """Add tools to a catalog, which is made where there is none; returns how many it has then."""
    if _find_kept(client, path) == "whole":
        raise ConfigurationError(
            f"{path} already exists as an ordinary catalog; delete it, or take another name"
        )
    answer = client.patch(path, json={"upsert": tools})
    if answer.status_code == httpx2.codes.NOT_FOUND:
        answer = client.put(path, json={"tools": tools, "keep": "postgres"})
    return int(answer.raise_for_status().json()["tools"])


def _find_registered(client: httpx2.Client, catalog: str) -> Tools | None:
    """Return the tools of a catalog; None if there is none of this name.

    Raises:
        httpx2.HTTPStatusError: the service refuses.
    """
    tools: dict[str, Mapping[str, Any]] = {}
    query: dict[str, Any] = {"detail": "full", "page_size": AT_A_TIME}
    while True:
        response = client.get(f"/v1/catalogs/{catalog}/tools", params=query)
        if response.status_code == httpx2.codes.NOT_FOUND:
            return None
        page = response.raise_for_status().json()
        for tool in page["tools"]:
            tools[tool["name"]] = {key: one for key, one in tool.items() if key not in USAGE}
        if "next_cursor" not in page:
            return tools
        query["cursor"] = page["next_cursor"]


def _report(catalog: str, before: Tools | None, after: Tools | None) -> Iterable[str]:
    old = before or {}
    new = after or {}
    yield f"{catalog}: {write_count(len(new), 'tool')}"
    changes = {
        "added": [name for name in new if name not in old],
        "removed": [name for name in old if name not in new],
        "changed": [name for name in new if name in old and new[name] != old[name]],
    }
    for change, names in changes.items():
        if names:
            yield f"{change}: {list_first_names(names, MAX_NAMED)}"
    if not any(changes.values()):
        yield "nothing has changed"
