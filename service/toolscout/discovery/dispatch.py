"""Call found tools through one constant tool, where a provider cannot load tools by itself.

    search_tools("send an email")                    → definitions of the tools found, as text
    call_tool("send_email", {"to": "a@b.example"})   → the client gets a call of `send_email`

The tools of a request then stay the same after a find, and with them the cached prompt. The first
finds of a conversation are usually declared as tools, with which the constant one comes; then the
model calls them by itself, and only later ones through it.
"""

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any

from toolscout.client.offer import Offer
from toolscout.discovery.config import Dispatching
from toolscout.discovery.providers import Call, Json, Provider
from toolscout.discovery.providers.calls import calling_through, with_calls, without_dispatch
from toolscout.discovery.providers.fields import arguments_of, encode, mapping, object_of, text_at
from toolscout.discovery.providers.provider import Results, SearchResult, Tools
from toolscout.discovery.shown import free_name
from toolscout.metatools.finds import drop_titles
from toolscout.tools.misfits import find_misfit
from toolscout.tools.shapes import read_texts, schema_of

NAME = "call_tool"

DESCRIPTION = (
    "Call a tool that a search has found, by its name and with arguments that fit its parameters. "
    "Tools that are listed beside this one are called directly."
)

_ARGUMENTS = {"type": "object", "description": "Those of the tool", "properties": {}}
SCHEMA: Json = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "arguments": _ARGUMENTS},
    "required": ["name", "arguments"],
}

REFUSED = "refused_call"
"""The argument with which a wrong call is answered as a search."""

MAX_SUGGESTIONS = 5
"""Names that are said to be like an unknown one."""

MAX_COMPARED_NAMES = 1_000
"""Names with which an unknown one is compared."""

_HEADING = "Call them with {name}:"
_DEFINITION = '{"name":'


class Dispatch:
    """A provider whose found tools are called through one that is always there.

    Whatever is not defined here is the provider's own.

    Args:
        provider: whose shapes these are.
        offer: all tools.
        mode: `on`, `off`, or `auto`: once the first finds of a conversation are declared.
    """

    def __init__(self, provider: Provider, offer: Offer, mode: Dispatching) -> None:
        self._provider = provider
        self._offer = offer
        self._name = name = free_name(NAME, offer.names)
        self._mode = mode
        self.searched_as = ""
        """The search tool's name: a wrong call becomes a call of it, and so is answered here.

        Where it is empty no call is judged.
        """
        self._wrong: dict[tuple[str, bytes], str] = {}
        self.is_active = mode == "on"
        """Whether the constant tool is there; without it found tools are declared."""
        opens = provider.stream
        self.stream = opens and partial(opens, dispatch_name=name, change=self._meant)

    @property
    def declares_finds(self) -> bool:
        """Whether the next finds are the first ones."""
        return self._mode == "auto" and not self.is_active

    def begin(self) -> None:
        """Have the constant tool from now on, beside the first finds."""
        self.is_active = self._mode != "off"

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._provider, attribute)

    def offered(self, request: Json, search: Any, tools: Tools) -> Json:
        """Return the constant tools and the visible ones, and earlier calls as the model made them.

        Known tools are there as well: no result of a search has their definitions.
        """
        if not self.is_active:
            return self._provider.offered(request, search, tools)
        dispatch = self._provider.function(self._name, DESCRIPTION, SCHEMA)
        declared = [search, dispatch, *tools.visible, *tools.known]
        direct = {*Offer(declared).names}
        through = calling_through(self._name)
        history = self._provider.history(request)
        written = with_calls(history, lambda n, a: (n, a) if n in direct else through(n, a))
        if written is not history:
            request = self._provider.with_history(request, written)
        return self._provider.with_tools(request, declared)

    def calls(self, response: Json) -> list[Call]:
        """Return the calls with the names of their tools."""
        return self._provider.calls(self._named(response))

    def continued(self, request: Json, response: Json, results: Results) -> Json:
        """As the provider's, with the definitions of the tools that were found."""
        defined = {*Offer(self._provider.tools(request)).names}
        defined |= self.referred(self._provider.history(request))
        return self._provider.continued(request, response, self._worded(results, defined))

    def leave_open(self, response: Json, results: Results, scope: str) -> None:
        """As the provider's, with the same definitions."""
        self._provider.leave_open(response, self._worded(results, ()), scope)

    def without_calls(self, response: Json, name: str) -> Json:
        """Return the response with the calls of found tools, and without those of one tool."""
        return self._provider.without_calls(self._named(response), name)

    def referred(self, history: Sequence[Any]) -> set[str]:
        """Names of the tools that results of searches define."""
        return {name for text in _strings(list(history)) for name in _defined_in(text)}

    def _named(self, response: Json) -> Json:
        """Return the response with calls that name their tools."""
        is_called = any(call.name == self._name for call in self._provider.calls(response))
        return without_dispatch(response, self._name, self._meant if is_called else None)

    def _meant(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """Return what a call of the constant tool stands for, if it names a tool, and is right."""
        if name != self._name:
            return name, arguments
        called = text_at(arguments, "name")
        if not called:
            return self._judged(name, arguments)
        # Some models write the arguments beside the name.
        further = {k: v for k, v in arguments.items() if k not in ("name", "arguments")}
        return self._judged(called, {**further, **arguments_of(arguments.get("arguments"))})

    def _judged(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """Return a call that can be made, and of any other a search that has the reason."""
        if name == self.searched_as or not self.searched_as:
            return name, arguments
        call = name, encode(arguments)  # each is read several times of one response
        if call not in self._wrong:
            self._wrong[call] = self._wrong_with(name, arguments)
        if wrong := self._wrong[call]:
            return self.searched_as, {REFUSED: {"text": wrong}}
        return name, arguments

    def _wrong_with(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Return what is wrong with a call; empty if nothing is."""
        if name == self._name:
            return f"`name` is missing. {DESCRIPTION}"
        tool = self._offer.by_name.get(name)
        names = self._offer.names
        if tool is None:
            near = (
                get_close_matches(name, names, MAX_SUGGESTIONS)
                if len(names) <= MAX_COMPARED_NAMES
                else ()
            )
            hint = f" Near: {', '.join(near)}." if near else ""
            return f"There is no tool {name}.{hint} Search for it."
        if not (fault := find_misfit(schema_of(tool), arguments)):
            return ""
        return f"The call of {name} was not made: {fault}. Its definition:\n{_definition(tool)}"

    def _worded(self, results: Results, defined: Collection[str]) -> list[SearchResult]:
        """Return results as the model reads them: those of wrong calls under the name it called."""
        if not self.is_active:
            return list(results)
        return [
            one._replace(call=one.call._replace(name=self._name))
            if refusal_of(one.call)
            else one._replace(text=self._with_definitions(one, defined))
            for one in results
        ]

    def _with_definitions(self, answered: SearchResult, defined: Collection[str]) -> str:
        """Define the tools that are not `defined`, which the conversation has defined before."""
        named = [(read_texts(tool)[0], tool) for tool in answered.tools]
        new = [tool for name, tool in named if name not in defined]
        if not new:
            return answered.text
        # The definitions name the tools, so the lines that do are left out.
        earlier = {f"- {name}" for name, _ in named if name in defined}
        lines = [
            line
            for line in answered.text.splitlines()
            if not line.startswith("- ") or line.partition(":")[0] in earlier
        ]
        lines.append(_HEADING.format(name=self._name))
        return "\n".join((*lines, *map(_definition, new)))


def refusal_of(call: Call) -> str:
    """Return why a call that is answered as a search was not made; empty for a search."""
    return text_at(mapping(call.arguments.get(REFUSED)), "text")


def _definition(tool: Any) -> str:
    name, description = read_texts(tool)
    parameters = drop_titles(schema_of(tool))
    about = {"name": name, "description": description, "parameters": parameters}
    return encode(about).decode()


def _defined_in(text: str) -> list[str]:
    lines = (line for line in text.splitlines() if line.startswith(_DEFINITION))
    return [defined["name"] for line in lines if (defined := object_of(line))]


def _strings(value: Any) -> list[str]:
    """Return all texts in a JSON-like value."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = [*value.values()]
    if not isinstance(value, list):
        return []
    return [text for part in value for text in _strings(part)]
