"""Tools that are never sent, because the provider would refuse the whole request for one of them.

Some are known by the providers' rules before anything is sent, where a request goes to the vendor
of its interface: compatible servers take more. Others are known by a refusal of their name or
schema, if the provider then took the request without them. Such a lesson is its caller's alone, and
ends after an hour. A tool is told of once, in one line.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from time import monotonic
from typing import Any, NamedTuple

from toolscout.client.log import logger
from toolscout.client.offer import Offer, write_definition
from toolscout.common.lru import Lru
from toolscout.tools.refused import list_refusals
from toolscout.tools.renaming import RenamedTool
from toolscout.tools.shapes import schema_of
from toolscout.turns.providers import ProviderName
from toolscout.turns.providers.fields import mapping
from toolscout.turns.refusals import MAX_REFUSALS, find_named_tools
from toolscout.turns.renaming import Renaming

MAX_LISTS = 1_000
"""Lists in memory whose tools were judged."""

MAX_TOOLS = 10_000
"""Tools in memory that a provider has refused, and that were told of."""

MAX_OF_ONE = 100
"""Of these, those of one caller and one model."""

REFUSED_FOR_S = 3_600.0
"""Seconds for which a refused tool is left out: the provider may take it later."""

MAX_NAME_LOGGED = 80

_SPACE = "namespace"

_HOSTS = {
    "openai": r"(?:[\w.-]+\.)?(?:api\.openai\.com|openai\.azure\.com)",
    "anthropic": r"api\.anthropic\.com",
    "gemini": r"(?:generativelanguage|[\w-]*aiplatform)\.googleapis\.com",
    "bedrock": r"(?:[\w.-]+\.)?bedrock-runtime(?:-fips)?\.[\w.-]+\.amazonaws\.com(?:\.cn)?",
}
"""The hosts of each vendor; its interfaces begin with its name."""

_MODELS = {"openai": r"(?:ft:)?(?:gpt-\d|chatgpt-|o\d)", "anthropic": r"claude-"}
"""How the vendor names its models; nobody else speaks the interfaces of the others."""


class Upstream(NamedTuple):
    """Where a request goes, and whose it is."""

    interface: ProviderName
    model: str
    address: str | None = None
    """Host and path; None where somebody else forwards it, empty where nobody knows."""
    scope: str = ""
    """What tells the caller from others."""
    session: str = ""
    """The conversation; empty when it is unknown, or any."""

    @property
    def is_vendors(self) -> bool:
        """Whether the vendor of the interface answers, whose rules are known."""
        vendor = self.interface.partition("-")[0]
        if self.address is None:
            return bool(re.match(_MODELS.get(vendor, ""), self.model))
        host = self.address.partition("/")[0].lower()
        return re.fullmatch(_HOSTS[vendor], host) is not None


class LeftOut:
    """Knows which tools each provider refuses; thread-safe."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._judged: Lru[tuple[str, bytes], Mapping[str, str]] = Lru(MAX_LISTS)
        self._refused: Lru[Upstream, Mapping[str, tuple[bytes, float]]] = Lru(MAX_TOOLS)
        self._told: Lru[tuple[str, str], bool] = Lru(MAX_TOOLS)

    def leave_out(self, offer: Offer, upstream: Upstream, forced: Collection[str] = ()) -> Offer:
        """Return an offer without the tools that its provider refuses.

        Args:
            offer: the tools of a request.
            upstream: where the request goes.
            forced: names that the request forces or lists, which stay: without them it is wrong.
        """
        refused = {*self._find_refused(offer, upstream)}
        if upstream.is_vendors:
            judged = self._find_judged(upstream.interface, offer)
            refused |= judged.keys()
            for name, why in judged.items():
                self._tell(upstream.interface, name, why)
        gone = frozenset(refused.difference(forced))
        if not gone or not offer.is_known:  # what a caller owns is not shared with others
            return offer.without(gone)
        return offer.once(("without", gone), lambda: offer.without(gone))

    def rename(self, offer: Offer, upstream: Upstream) -> Renaming | None:
        """Return how tools go out that would be refused but for their names and keys.

        None where it is not known what is refused.
        """
        if not upstream.is_vendors:
            return None
        make = partial(self._rename, upstream.interface, offer)
        # What a caller owns is not shared with others.
        return offer.once(("renamed", upstream.interface), make) if offer.is_known else make()

    def _rename(self, interface: str, offer: Offer) -> Renaming:
        tools: dict[str, RenamedTool] = {}
        taken = {*offer.names}
        for name in sorted(self._find_judged(interface, offer)):
            tool = offer.by_name[name]
            if _SPACE in mapping(tool):
                continue
            with suppress(RecursionError):
                renamed = RenamedTool(interface, tool, name, taken)
                if not list_refusals(interface, renamed.name, schema_of(renamed.definition)):
                    tools[name] = renamed
                    taken.add(renamed.name)
        return Renaming(interface, offer, tools)

    def _find_judged(self, interface: str, offer: Offer) -> Mapping[str, str]:
        """Return which tools are against the rules of an interface, and why; judged once."""
        key = (interface, offer.digest())
        judged = self._judged.get(key)
        if judged is None:
            judged = dict(self._judge(interface, offer))
            self._judged.put(key, judged)
        return judged

    def _judge(self, interface: str, offer: Offer) -> Iterator[tuple[str, str]]:
        for name, tool in offer.by_name.items():
            # In Responses the namespace is no part of the name that is sent.
            space = mapping(tool).get(_SPACE)
            own = name.removeprefix(f"{space}.") if isinstance(space, str) else name
            with suppress(Exception):  # no tool of any known shape
                if reasons := list_refusals(interface, own, schema_of(tool)):
                    yield name, "; ".join(reasons)

    def _find_refused(self, offer: Offer, upstream: Upstream) -> Iterator[str]:
        """Yield the tools that the provider has refused before, and still may."""
        any_session = upstream._replace(session="")
        of_all = self._refused.get(any_session) or {}
        of_session = self._refused.get(upstream) or {}
        for name, (digest, until) in {**of_session, **of_all}.items():
            tool = offer.by_name.get(name)
            if tool is None or self._clock() >= until:
                continue
            if digest == _hash_tool(name, tool):
                yield name

    def _tell(self, provider: str, name: str, why: str) -> None:
        key = (provider, name)
        if self._told.get(key) is None:
            self._told.put(key, True)
            shown = repr(name[:MAX_NAME_LOGGED])
            logger.warning("tool %s is left out for %s: %s", shown, provider, why)

    def remember(self, upstream: Upstream, tools: Mapping[str, Any]) -> None:
        """Remember tools, by their names, without which the provider took a request."""
        if not tools:
            return
        until = self._clock() + REFUSED_FOR_S
        refused = dict(self._refused.get(upstream) or {})
        for name, tool in tools.items():
            refused[name] = (_hash_tool(name, tool), until)
        latest = [*refused.items()][-MAX_OF_ONE:]
        self._refused.put(upstream, dict(latest), len(latest))
        for name in tools:
            self._tell(upstream.interface, name, "it has refused it")


class RefusedTools:
    """The tools that the refusals of one turn name; they are remembered once it is accepted.

    Args:
        left_out: remembers them.
        upstream: where the request goes, and whose it is.
        forced: names that the request forces or lists, which stay.
    """

    def __init__(self, left_out: LeftOut, upstream: Upstream, forced: Collection[str]) -> None:
        self._left_out = left_out
        self._upstream = upstream
        self._forced = forced
        self._refusals = 0
        self._named: dict[bool, dict[str, Any]] = {True: {}, False: {}}
        """Evidently, and by a guess."""

    def named_by(
        self, error: Exception, sent: Sequence[Any], offered: Mapping[str, Any]
    ) -> Collection[str]:
        """Return the offered tools to leave out of the next forward; never all of them."""
        named, is_evident = find_named_tools(error, sent)
        named &= offered.keys()
        named.difference_update(self._forced)
        if self._refusals >= MAX_REFUSALS:
            return ()
        if not named or len(named) == len(offered):
            return ()
        self._refusals += 1
        self._named[is_evident] |= {name: offered[name] for name in named}
        return named

    def remember(self) -> None:
        """Leave them out of the caller's later requests, those by a guess in this session alone."""
        if not any(self._named.values()):
            return
        self._left_out.remember(self._upstream._replace(session=""), self._named[True])
        if self._upstream.session:
            self._left_out.remember(self._upstream, self._named[False])
        self._named = {True: {}, False: {}}


def _hash_tool(name: str, tool: Any) -> bytes:
    return sha256(write_definition(name, tool)).digest()
