"""Tools that are never sent, because the provider would refuse the whole request for one of them.

Some are known by the providers' rules, before anything is sent; others by a refusal that named
them, if the provider then took the request without them. A tool is judged once for each list, and
told of once, in one line.
"""

import logging
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any

from toolscout.client.offer import Offer, written
from toolscout.common.lru import Lru
from toolscout.discovery.providers import Provider
from toolscout.discovery.providers.fields import mapping
from toolscout.discovery.refusals import refuses_form, text_of_error
from toolscout.tools.refused import refusals
from toolscout.tools.shapes import name_of, schema_of

MAX_LISTS = 1_000
"""Lists in memory whose tools were judged."""

MAX_TOOLS = 10_000
"""Tools in memory that a provider has refused, and that were told of."""

MAX_NAME_LOGGED = 80

_NAMED = re.compile(r"\b(?:function|tool)s?(?: name)?\W{1,4}([\w.:-]+)", re.IGNORECASE)
"""A tool in the words of a refusal: `Invalid schema for function 'f'`, `Tool 'f' cannot have …`."""

_PLACED = re.compile(r"\btools?[\[.](\d+)(\]?\.function_?declarations\[(\d+)|\.member)?", re.I)
"""A tool by its place: `tools.3.custom.name`, `tools[3].function`; Gemini's is in the declarations
of a tool, and Bedrock counts from one: `toolConfig.tools.4.member`."""

logger = logging.getLogger("toolscout.client")


class LeftOut:
    """Knows which tools each provider refuses; thread-safe."""

    def __init__(self) -> None:
        self._judged: Lru[tuple[str, bool, bytes], frozenset[str]] = Lru(MAX_LISTS)
        self._refused: Lru[bytes, bool] = Lru(MAX_TOOLS)
        self._told: Lru[tuple[str, str], bool] = Lru(MAX_TOOLS)

    def leave_out(
        self,
        provider: Provider,
        offer: Offer,
        forced: Collection[str] = (),
        *,
        by_reference: bool = False,
    ) -> Collection[str]:
        """Take the tools out of an offer that its provider refuses, and return their names.

        Args:
            provider: who would refuse them.
            offer: is changed.
            forced: names that the request forces or lists, which stay: without them it is wrong.
            by_reference: whether tools are deferred, and loaded by their names.
        """
        key = provider.name, by_reference, offer.digest()
        known = self._judged.get(key)
        if known is None:
            known = frozenset(self._judge(provider, offer, by_reference))
            self._judged.put(key, known)
        if gone := known.difference(forced):
            offer.keep(lambda name: name not in gone)
        return gone

    def _judge(self, provider: Provider, offer: Offer, by_reference: bool) -> Iterator[str]:
        for name, tool in offer.by_name.items():
            given = mapping(tool)
            space = given.get(
                "namespace"
            )  # of Responses, which is no part of the name that is sent
            own = name.removeprefix(f"{space}.") if isinstance(space, str) else name
            reasons: tuple[str, ...] = ()
            with suppress(Exception):  # no tool of any known shape
                schema = schema_of(tool)
                reasons = refusals(provider.name, own, schema, by_reference=by_reference)
            if self._refused.get(_key(provider, name, tool)):
                reasons = ("it has refused it before",)
            if reasons:
                self._tell(provider, name, "; ".join(reasons))
                yield name

    def _tell(self, provider: Provider, name: str, why: str) -> None:
        if self._told.get((provider.name, name)) is None:
            self._told.put((provider.name, name), True)
            shown = f"{name[:MAX_NAME_LOGGED]!r}"
            logger.warning("tool %s is left out for %s: %s", shown, provider.name, why)

    def remember(self, provider: Provider, tools: Mapping[str, Any]) -> None:
        """Remember tools, by their names, without which the provider took a request."""
        for name, tool in tools.items():
            self._refused.put(_key(provider, name, tool), True)
            self._tell(provider, name, "it has refused it")
        if tools:
            self._judged.clear()


def named_by(error: Exception, sent: Sequence[Any]) -> set[str]:
    """Return the names of the tools that the refusal of a request with them names."""
    if not refuses_form(error):
        return set()
    return set(_named(text_of_error(error), Offer(sent).everything))


def _key(provider: Provider, name: str, tool: Any) -> bytes:
    return sha256(provider.name.encode() + b"\n" + written(name, tool)).digest()


def _named(text: str, sent: Sequence[Any]) -> Iterator[str]:
    """Yield the names of the tools that a refusal names, or says the place of."""
    names = [name_of(mapping(tool)) for tool in sent]
    bare = {name.rpartition(".")[2]: name for name in names} | {name: name for name in names}
    for found in _NAMED.finditer(text):
        if name := bare.get(found[1].rstrip(".:")) or bare.get(found[1]):
            yield name
    for placed in _PLACED.finditer(text):
        place = int((placed[3] or placed[1])[:6]) - (placed[2] == ".member")
        if 0 <= place < len(names) and names[place]:
            yield names[place]
