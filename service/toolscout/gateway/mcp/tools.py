"""The meta-tools over the tools of all servers, and the gate before a call of one of them."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import unquote

import mcp_types
import msgspec
from mcp import MCPError
from msgspec import UNSET, Meta

from toolscout.common.spelling import make_key
from toolscout.contract.answers import Resolution
from toolscout.contract.bounds import MAX_NAME_CHARS
from toolscout.contract.fields import Level
from toolscout.contract.requests import Filters
from toolscout.contract.tools import ToolDetail
from toolscout.errors import ToolscoutError
from toolscout.gateway.mcp.listing import Offered
from toolscout.gateway.mcp.texts import TOOL, make_result
from toolscout.gateway.mcp.view import DISABLED, HostSession, View, drop_host
from toolscout.index import pages
from toolscout.metatools.answers import TRY_AGAIN, ToolsFound, describe_none, resolve_name, show
from toolscout.metatools.arguments import Arguments, CallError, SearchTools
from toolscout.metatools.finds import drop_titles
from toolscout.metatools.table import FIND, TOOLS
from toolscout.tools.misfits import fill_missing, find_misfit
from toolscout.tools.risk import requires_schema
from toolscout.tools.shapes import schema_of

CALL = "call_tool"
CALL_WRITE = "call_tool_write"

CALLS = {
    CALL: "Call a tool that only reads, as search_tools shows it.",
    CALL_WRITE: "Call a tool that changes something, as search_tools shows it.",
}
"""The tools that call others, with their descriptions: a host can allow reads alone."""

META_TOOLS = TOOLS | {FIND.name: FIND}


class CallTool(Arguments, frozen=True, kw_only=True):
    """The arguments of the tools that call others."""

    name: Annotated[str, Meta(min_length=1, max_length=MAX_NAME_CHARS)]
    arguments: Annotated[Any, Meta(extra_json_schema={"type": "object"})] = UNSET
    token: Annotated[
        Any, Meta(description="If it has one", extra_json_schema={"type": "string"})
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

    def __init__(self, view: View, session: HostSession) -> None:
        self._view = view
        self._session = session

    async def search(self, arguments: SearchTools) -> ToolsFound:
        """Search the tools of the servers that answer, and name the others.

        Tools that hosts list as themselves come in addition to as many others as are asked for.
        """
        view = self._view
        count = arguments.top_k
        space = arguments.namespace or ""
        servers = list(view.config.servers)
        if space and space.casefold() not in map(str.casefold, servers):
            raise CallError(f"namespace: there is no such server; there are {', '.join(servers)}")
        await view.settle(space)
        listed = {one.shown["name"] for one in view.pinned}
        try:
            ranked, outcome = await view.finder.search(
                arguments.query, count + len(listed), arguments.filters
            )
        except ToolscoutError as error:
            raise CallError(error.detail) from None
        ranked = [name for name in ranked if name in view.tools]  # one may have gone meanwhile
        shown = {*[name for name in ranked if name not in listed][:count], *ranked[:count]}
        names = [name for name in ranked if name in shown]
        self._session.note_search(arguments.query, names)
        answer = self._none_found(space)
        if names:
            answer = ToolsFound(await self.show(names, arguments.detail), outcome)
        # The tool that would fit best may be one of theirs.
        missing = view.unavailable(space)
        return msgspec.structs.replace(answer, unavailable=missing or None)

    async def names(self, filters: Filters | None) -> list[str]:
        """Return the names of the tools that pass, sorted."""
        catalog = self._view.finder.catalog
        names = await asyncio.to_thread(pages.list_names, catalog, filters or Filters())
        return [name for name in names if name in self._view.tools]

    async def resolve(self, names: Sequence[str]) -> list[Resolution]:
        """Return the tools of which the whole or the own name is written in any spelling.

        Hosts write `mcp__` before it, or what they call this gateway.
        A tool of another server never answers to a whole name, even if its own name is the same.
        Servers that may have an unknown one, but start or read their lists, are waited for.
        """
        await self._view.begun.wait()
        answers = list(map(self._resolution, names))
        if missing := [one.query for one in answers if one.name is None and not one.ambiguous]:
            prefixes = [self._view.prefix_of(name) for name in missing]
            await asyncio.gather(*(self._view.settle(one, is_called=True) for one in prefixes))
            answers = list(map(self._resolution, names))
        return answers

    async def called(self, name: str) -> str:
        """Return the name of the tool that a call means.

        Raises:
            CallError: there is none, or there are several, or its server has no list yet.
        """
        try:
            return await resolve_name(self, name)
        except CallError as error:
            prefix = self._view.prefix_of(name)
            reasons = self._view.unavailable(prefix)
            if not prefix:
                starting = self._view.starting()
                reasons = {one: why for one, why in reasons.items() if one in starting}
            reasons |= dict.fromkeys(self._view.find_disabled(name), DISABLED)
            lines = [f"{server}: {reason}" for server, reason in reasons.items()]
            raise CallError("; ".join([str(error), *lines])) from None

    async def show(self, names: Sequence[str], detail: Level) -> list[ToolDetail]:
        """Return tools at a level of detail; whole, they count as read in this session."""
        offered = [self._view.tools[name] for name in names]
        if detail != "full":
            return [show(one.shown, detail) for one in offered]
        return list(map(self._read, offered))

    async def read(self, uri: str) -> mcp_types.ReadResourceResult:
        """Read the resource of a tool: the whole tool, which counts as read in this session.

        Raises:
            MCPError: no tool has the name; the message has similar ones.
        """
        try:
            name = await resolve_name(self, unquote(uri.removeprefix(TOOL)))
        except CallError as error:
            raise MCPError(mcp_types.INVALID_PARAMS, str(error), {"uri": uri}) from None
        (shown,) = await self.show([name], "full")
        return make_result(uri, msgspec.json.encode(shown).decode(), media="application/json")

    def definition(self, name: str) -> Mapping[str, Any]:
        """Return a tool as it is listed."""
        return self._view.tools[name].shown

    def caller(self, name: str) -> str:
        """Return the name of the tool that calls it."""
        return CALL if self._view.tools[name].shown["risk"] == "read_only" else CALL_WRITE

    async def domains(self) -> dict[str, int] | None:
        """Return how many tools each domain has, most first; None while servers start."""
        if self._view.starting():
            return None
        return await asyncio.to_thread(self._view.finder.domains, set(self._view.tools))

    async def required_keys(self, name: str) -> Sequence[str]:
        """Return the names of the variables or headers that a tool's server was given."""
        return self._view.tools[name].connection.server.keys

    def check(self, name: str, token: object, caller: str | None = None) -> None:
        """Refuse a call that has to be made again, with the token that the refusal shows.

        Args:
            name: the tool to call.
            token: what the call brings to show that the definition was read.
            caller: the tool that was used for the call; None for the tool's own name.

        Raises:
            CallError: the definition was not read, or the call came through the wrong tool.
        """
        offered = self._view.tools[name]
        right = self.caller(name)
        expected = self._token(offered)
        was_shown = self._session.is_remembered and expected in self._session.read
        if expected is not None and not was_shown and self._view.gate.refuses(offered.shown, token):
            changed = "has changed and " if offered.is_changed else ""
            why = f"{name} {changed}is {offered.shown['risk']}: check its definition"
            message = f"{why}, then repeat the call through {right} with this token"
            answer = {"error": message, "token": expected, "tool": self._read(offered)}
            raise CallError(msgspec.json.encode(answer).decode())
        # A tool that only reads may be called through both.
        if caller == CALL and right == CALL_WRITE:
            risk = offered.shown["risk"]
            raise CallError(f"{name} is {risk}: repeat the call through {right}")

    def check_arguments(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call, or refuse one that the tool's server would refuse.

        What is missing and may be null becomes null.

        Raises:
            CallError: a field is missing, unknown or of another kind; the schema comes along.
        """
        schema = schema_of(self._view.tools[name].shown)
        filled: dict[str, Any] = fill_missing(schema, arguments)
        if fault := find_misfit(schema, filled):
            answer = {"error": f"{name} was not called: {fault}"}
            answer |= {"input_schema": drop_titles(schema)}
            raise CallError(msgspec.json.encode(answer, enc_hook=str).decode())
        return filled

    def _read(self, offered: Offered) -> ToolDetail:
        """Show a tool whole, and remember that this session has seen it."""
        token = self._token(offered)
        if token is not None:
            self._session.read.add(token)
        shown = show(offered.shown, "full", token, self.caller(offered.shown["name"]))
        return msgspec.structs.replace(
            shown,
            input_schema=drop_titles(shown.input_schema),
            risk=None if shown.call == CALL else shown.risk,
            requires_full_schema=None,
        )

    def _token(self, offered: Offered) -> str | None:
        """Return what a call of a tool has to repeat; None if it may be called as it is."""
        is_gated = offered.is_changed or requires_schema(offered.shown["risk"])
        return self._view.gate.token(offered.shown) if is_gated else None

    def _resolution(self, written: str) -> Resolution:
        guess = self._view.finder.resolver.resolve(written)
        offered = self._view.tools.get(guess.name or "")
        if offered is not None:
            spelled = make_key(written)
            right = make_key(offered.shown["name"]), make_key(offered.tool.name)
            if spelled in right or drop_host(spelled) in right:
                return guess
        ambiguous = self._seen(guess.ambiguous)
        suggestions = self._seen(guess.suggestions)
        return Resolution(written, ambiguous=ambiguous, suggestions=suggestions)

    def _seen(self, names: Sequence[str] | None) -> list[str] | None:
        """Keep the names that this host may see; the index may be a moment old."""
        return [name for name in names or () if name in self._view.tools] or None

    def _none_found(self, space: str) -> ToolsFound:
        """Say that nothing fits, and for how many tools and which servers that is said."""
        tools = self._view.tools
        names = list(tools)
        # A tool's own name may have what else separates a server's.
        answer = describe_none(names, TRY_AGAIN, lambda name: tools[name].connection.name)
        message = answer.message
        if starting := ", ".join(self._view.starting(space)):
            message = f"No tool fits this query yet. Still starting: {starting}. Search again."
        elif not names and (gone := ", ".join(self._view.unavailable(space))):
            message = f"No tool can be found, for these servers do not answer: {gone}."
        if disabled := ", ".join(self._view.config.disabled):
            message = f"{message} Disabled in the configuration: {disabled}."
        return msgspec.structs.replace(answer, message=message)
