"""The tools of one request in names and keys that their provider takes, and calls of them.

A request is put into clean words before anything else reads it, its history too, so that whoever
works on it, and the model, knows one language. An answer gets the caller's own back at the end.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from toolscout.client.offer import Offer
from toolscout.tools.naming import spell_name
from toolscout.tools.refused import can_take_name
from toolscout.tools.renaming import RenamedTool, rename_keys
from toolscout.turns.providers import Json, Provider
from toolscout.turns.providers.calls import change_calls
from toolscout.turns.providers.fields import decode, encode

_CHOICES = {"tool_choice", "toolConfig", "tool_config"}
"""Where a request says which tools to call."""


class Renaming:
    """What becomes of the tools of a list, and of their calls.

    Args:
        interface: the name of the provider's interface.
        offer: the tools as their caller wrote them.
        tools: those that are renamed, by the name that their caller gave them.
    """

    def __init__(self, interface: str, offer: Offer, tools: Mapping[str, RenamedTool]) -> None:
        self._interface = interface
        self._tools = tools
        self._own = {tool.name: name for name, tool in tools.items()}
        self.written = offer
        """The tools as their caller wrote them."""
        self.offer = offer
        """The tools as they go out."""
        own = offer.by_name
        clean = {id(own[name]): tool.definition for name, tool in tools.items()}
        if tools:
            self.offer = Offer([clean.get(id(tool), tool) for tool in offer.everything])
        self.names = self._own.keys()
        """The names by which the model calls what is renamed."""

    def write_call(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """Return a call of the caller's as it goes out; its tool may be gone since."""
        tool = self._tools.get(name)
        if tool is not None:
            return tool.name, rename_keys(arguments, tool.clean)
        is_taken = can_take_name(self._interface, name)
        return name if is_taken else spell_name(name) or name, arguments

    def give_back_call(
        self, name: str, arguments: Mapping[str, Any]
    ) -> tuple[str, Mapping[str, Any]]:
        """Return a call of the model's as the caller knows it."""
        if name not in self._own:
            return name, arguments
        own = self._own[name]
        return own, rename_keys(arguments, self._tools[own].own)

    def write_names(self, names: Iterable[str]) -> list[str]:
        """Return the caller's names of tools as they go out."""
        return [self.write_call(name, {})[0] for name in names]

    def write_request(self, provider: Provider, request: Json) -> Json:
        """Return a request as it goes out: its tools, its history, and the tools that it names."""
        if self.names and provider.tools(request):
            request = provider.with_tools(request, self.offer.everything)
        history = provider.history(request)
        written = change_calls(history, self.write_call)
        if written is not history:
            request = provider.with_history(request, written)
        for name in provider.choice(request).names:
            clean = encode(self.write_call(name, {})[0])
            for key in _CHOICES & request.keys():
                written = encode(request[key]).replace(encode(name), clean)
                request = {**request, key: decode(written)}
        return request
