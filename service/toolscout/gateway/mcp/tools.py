"""The meta-tools over the tools of all servers, and the gate before a call of one of them."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta

from toolscout.common.spelling import key
from toolscout.contract.answers import Resolution
from toolscout.contract.fields import Detail
from toolscout.contract.requests import Filters
from toolscout.contract.tools import ToolDetail
from toolscout.errors import ToolscoutError
from toolscout.gateway.mcp.gateway import Gateway, Session
from toolscout.gateway.mcp.listing import Offered
from toolscout.metatools.answers import ToolsFound, none_found, show
from toolscout.metatools.arguments import Arguments, CallError, SearchTools, ToolName
from toolscout.tools.risk import needs_schema

CALL = "call_tool"


class CallTool(Arguments, frozen=True, kw_only=True):
    """Call a tool that search_tools found. Read tool_info first for its arguments."""

    name: ToolName
    arguments: Annotated[
        Any, Meta(description="As its input schema says", extra_json_schema={"type": "object"})
    ] = UNSET
    token: Annotated[
        Any,
        Meta(description="From tool_info, if that has one", extra_json_schema={"type": "string"}),
    ] = UNSET

    def inner(self) -> dict[str, Any]:
        """Return the arguments of the tool to call; some models write the object as a text.

        Raises:
            CallError: they are no object.
        """
        inner = {} if self.arguments is UNSET else self.arguments
        if isinstance(inner, str):
            try:
                inner = msgspec.json.decode(inner)
            except (msgspec.DecodeError, RecursionError):
                raise CallError("arguments: expected an object, got text that is no JSON") from None
        if not isinstance(inner, dict):
            raise CallError("arguments: expected an object")
        return inner


class ServerTools:
    """The tools of all servers, as the meta-tools of one session look into them."""

    def __init__(self, gateway: Gateway, session: Session) -> None:
        self._gateway = gateway
        self._session = session

    @property
    def _offered(self) -> Mapping[str, Offered]:
        return self._gateway.listing.tools

    async def search(self, wanted: SearchTools) -> ToolsFound:
        """Search the tools of the servers that answer, and name the others."""
        space, servers = wanted.namespace or "", list(self._gateway.config.servers)
        if space and space.casefold() not in map(str.casefold, servers):
            raise CallError(f"namespace: there is no such server; there are {', '.join(servers)}")
        try:
            names, outcome = await self._gateway.search(
                self._session, wanted.query, wanted.top_k, wanted.filters
            )
        except ToolscoutError as error:
            raise CallError(error.detail) from None
        found = none_found(list(self._offered))
        if names:
            found = ToolsFound(await self.show(names, wanted.detail), outcome)
        # The tool that would fit best may be one of theirs.
        missing = self._gateway.unavailable(space)
        return msgspec.structs.replace(found, unavailable=missing or None)

    async def names(self, filters: Filters | None) -> list[str]:
        """Return the names of the tools that pass, sorted."""
        if filters is None:
            return sorted(self._offered)
        names = await asyncio.to_thread(self._gateway.finder.names, filters)
        return [name for name in names if name in self._offered]

    async def resolve(self, names: Sequence[str]) -> list[Resolution]:
        """Return the tools of which the whole or the own name is written in any spelling.

        A tool of another server never answers to a whole name, even if its own name is the same.
        """
        return list(map(self._resolution, names))

    async def show(self, names: Sequence[str], detail: Detail) -> list[ToolDetail]:
        """Return tools at a level of detail, whole with the token that a call has to repeat."""
        offered = [self._offered[name] for name in names]
        return [
            show(one.shown, detail, self._token(one) if detail == "full" else None)
            for one in offered
        ]

    async def required_keys(self, name: str) -> Sequence[str]:
        """Return the names of the variables or headers that a tool's server was given."""
        return self._offered[name].connection.server.keys

    def refusal(self, name: str, token: object) -> str | None:
        """Return the answer to a call that has to be made again, with the token that it shows."""
        offered = self._offered[name]
        expected = self._token(offered)
        if expected is None or not self._gateway.gate.refuses(offered.shown, token):
            return None
        changed = "has changed and " if offered.is_changed else ""
        why = f"{name} {changed}is {offered.shown['risk']}: check its definition"
        message = f"{why}, then repeat the call through {CALL} with this token"
        answer = {"error": message, "token": expected, "tool": show(offered.shown, "full")}
        return msgspec.json.encode(answer).decode()

    def _token(self, offered: Offered) -> str | None:
        """Return what a call of a tool has to repeat; None if it may be called as it is."""
        is_gated = offered.is_changed or needs_schema(offered.shown["risk"])
        return self._gateway.gate.token(offered.shown) if is_gated else None

    def _resolution(self, written: str) -> Resolution:
        found = self._gateway.finder.resolve(written)
        offered = self._offered.get(found.name or "")
        if offered is not None and key(written) in (key(found.name or ""), key(offered.tool.name)):
            return found
        return Resolution(written, ambiguous=found.ambiguous, suggestions=found.suggestions)
