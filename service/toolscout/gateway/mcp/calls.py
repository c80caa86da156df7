"""Answer calls of the gateway's own tools that only read: search, list, one tool, its keys."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from toolscout.client.agents.answers import error_answer, info_answer, list_answer, search_answer
from toolscout.client.offer import Offer
from toolscout.client.overview import MAX_HINTS
from toolscout.client.selector.selection import Selection
from toolscout.common.spelling import key
from toolscout.errors import ToolscoutError
from toolscout.gateway.mcp.definitions import (
    DEFAULT_RESULTS,
    INFO,
    KEYS,
    LIST,
    MAX_RESULTS,
    SEARCH,
)
from toolscout.gateway.mcp.failures import Refusal
from toolscout.gateway.mcp.gateway import Gateway
from toolscout.gateway.mcp.session import Session

Arguments = Mapping[str, Any]


class ReadingCalls:
    """Answers in JSON text; what is wrong with the arguments is in the answer."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self.by_name: dict[str, Callable[[Session, Arguments], Awaitable[str]]] = {
            SEARCH: self._search,
            INFO: self._info,
            LIST: self._list,
            KEYS: self._keys,
        }

    def resolved(self, name: str) -> str:
        """Return the whole name of a tool, of which that or its own name is given in any spelling.

        A tool of another server never answers to a whole name, even if its own name is the same.

        Raises:
            Refusal: there is none, or there are several; the text has similar names.
        """
        found = self._gateway.resolve(name)
        offered = self._gateway.listing.tools.get(found.name or "")
        if offered is not None:
            whole: str = offered.shown["name"]
            if key(name) in (key(whole), key(offered.tool.name)):
                return whole
        near = ", ".join((found.ambiguous or found.suggestions or [])[:MAX_HINTS])
        raise Refusal(f"there is no tool of this name{'; near: ' if near else ''}{near}")

    async def _search(self, session: Session, arguments: Arguments) -> str:
        query, count = arguments.get("query"), arguments.get("max_results")
        count = DEFAULT_RESULTS if count is None else count
        namespace, domain = arguments.get("namespace"), arguments.get("domain")
        if not isinstance(query, str) or not query.strip():
            return error_answer("query: expected a text")
        if type(count) is not int or not 0 < count <= MAX_RESULTS:
            return error_answer(f"max_results: expected a whole number from 1 to {MAX_RESULTS}")
        for field, value in (("namespace", namespace), ("domain", domain)):
            if value is not None and not isinstance(value, str):
                return error_answer(f"{field}: expected a text")
        servers = list(self._gateway.config.servers)
        if namespace and namespace.casefold() not in map(str.casefold, servers):
            return error_answer("namespace: there is no such server", servers=servers)
        try:
            names = await self._gateway.search(
                session, query, count, namespace or None, domain or None
            )
        except ToolscoutError as error:
            return error_answer(error.detail)
        answer = search_answer(Selection(names, []), self._gateway.listing.offer)
        return answer if names else _with_unavailable(answer, self._gateway.unavailable(namespace))

    async def _info(self, session: Session, arguments: Arguments) -> str:
        name = arguments.get("name")
        if not isinstance(name, str):
            return error_answer("name: expected a text")
        name = self.resolved(name)
        only = Offer([self._gateway.listing.tools[name].shown])
        return info_answer({"name": name}, only, session.gate)

    async def _list(self, _: Session, arguments: Arguments) -> str:
        return list_answer(arguments, self._gateway.listing.offer)

    async def _keys(self, _: Session, arguments: Arguments) -> str:
        name = arguments.get("name")
        if not isinstance(name, str):
            return error_answer("name: expected a text")
        name = self.resolved(name)
        keys = self._gateway.listing.tools[name].connection.server.keys
        return msgspec.json.encode({"name": name, "required_keys": keys}).decode()


def _with_unavailable(answer: str, reasons: Mapping[str, str]) -> str:
    """Add which servers do not answer, and why: the tool may be one of theirs."""
    if not reasons:
        return answer
    return msgspec.json.encode({**msgspec.json.decode(answer), "unavailable": reasons}).decode()
