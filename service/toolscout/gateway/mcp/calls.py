"""Answer calls of the gateway's own tools that only read: search, list, one tool, its keys."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from toolscout.client.offer import Offer
from toolscout.client.selection import Selection
from toolscout.common.spelling import key
from toolscout.discovery.agents.answers import error_answer, info_answer, list_answer, search_answer
from toolscout.discovery.overview import MAX_HINTS
from toolscout.errors import ToolscoutError
from toolscout.gateway.mcp.definitions import (
    CALL,
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
        # The tool that would fit best may be one of theirs.
        missing = self._gateway.unavailable(namespace)
        return _extended(answer, unavailable=missing) if missing else answer

    async def _info(self, _: Session, arguments: Arguments) -> str:
        name = arguments.get("name")
        if not isinstance(name, str):
            return error_answer("name: expected a text")
        return self._definition(self.resolved(name))

    def refusal(self, name: str, token: object) -> str | None:
        """Return the answer to a call that has to be made again, with the token that it shows."""
        offered = self._gateway.listing.tools[name]
        if not self._gateway.gate.refuses(offered, token):
            return None
        changed = "has changed and " if offered.is_changed else ""
        why = f"{name} {changed}is {offered.shown['risk']}: check its definition"
        message = f"{why}, then repeat the call through {CALL} with this token"
        definition = msgspec.json.decode(self._definition(name))
        return error_answer(message, token=definition.pop("token"), tool=definition)

    def _definition(self, name: str) -> str:
        """Return everything about a tool, and the token that a call of it has to repeat."""
        offered = self._gateway.listing.tools[name]
        answer = info_answer({"name": name}, Offer([offered.shown]), None)
        token = self._gateway.gate.token(offered)
        return _extended(answer, token=token) if token else answer

    async def _list(self, _: Session, arguments: Arguments) -> str:
        return list_answer(arguments, self._gateway.listing.offer)

    async def _keys(self, _: Session, arguments: Arguments) -> str:
        name = arguments.get("name")
        if not isinstance(name, str):
            return error_answer("name: expected a text")
        name = self.resolved(name)
        keys = self._gateway.listing.tools[name].connection.server.keys
        return msgspec.json.encode({"name": name, "required_keys": keys}).decode()


def _extended(answer: str, **more: Any) -> str:
    return msgspec.json.encode({**msgspec.json.decode(answer), **more}).decode()
