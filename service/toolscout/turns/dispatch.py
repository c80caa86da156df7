"""Call found tools through one constant tool, where a provider cannot load tools by itself.

    search_tools("send an email")                    → definitions of the tools found, as text
    call_tool("send_email", {"to": "a@b.example"})   → the client gets a call of `send_email`

The tools of a request then stay the same after a find, and with them the cached prompt. The first
finds of a conversation are usually declared as tools, with which the constant one comes; then the
model calls them by itself, and only later ones through it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Protocol

from toolscout.client.offer import Offer
from toolscout.metatools.finds import drop_titles
from toolscout.tools.misfits import fill_missing, find_misfit
from toolscout.tools.shapes import read_texts, schema_of
from toolscout.turns.config import Dispatching
from toolscout.turns.providers import Call, Json, Provider
from toolscout.turns.providers.calls import change_calls, make_dispatcher, undo_dispatch
from toolscout.turns.providers.fields import arguments_of, encode, mapping, object_of, text_at
from toolscout.turns.providers.provider import Results, SearchResult, Tools
from toolscout.turns.providers.stream import Stream
from toolscout.turns.shown import choose_free_name

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

FITTING = "These tools are available now, and may fit what is asked."
"""What is said of tools that were found for a message of the user's, behind it."""

_HEADING = "Call them with {name}:"
_DEFINITION = '{"name":'


class ToolUse(Protocol):
    """How a model gets its tools and calls them: as a provider has it, or through `Dispatch`."""

    def offer_tools(self, request: Json, search: Any, tools: Tools) -> Json:
        """Return the request with the search tool, and the tools that the model is to see."""

    def calls(self, response: Json) -> list[Call]:
        """Return the tool calls of a response, in order."""

    def continue_request(self, request: Json, response: Json, results: Results) -> Json:
        """Return the request with the model's turn and the results of its calls appended."""

    def leave_open(self, response: Json, results: Results, scope: str) -> None:
        """Note the results of searches in a response whose other calls the client answers."""

    def drop_calls(self, response: Json, name: str) -> Json:
        """Return the response without calls of one tool, as if they had never been made."""

    def find_referred(self, history: Sequence[Any]) -> set[str]:
        """Return names of tools that the results of searches in a history have loaded."""

    def open_stream(self, search_name: str) -> Stream:
        """Return a reader of the model's streams, from which searches are removed."""


class Dispatch:
    """The use of tools where those found are called through one that is always there.

    Args:
        provider: whose shapes these are.
        offer: all tools.
        mode: `on`, `off`, or `auto`: once the first finds of a conversation are declared.
    """

    def __init__(self, provider: Provider, offer: Offer, mode: Dispatching) -> None:
        self._provider = provider
        self._offer = offer
        self._name = choose_free_name(NAME, offer.names)
        self._mode = mode
        self.searched_as = ""
        """The search tool's name: a wrong call becomes a call of it, and so is answered here.

        Where it is empty no call is judged.
        """
        self._judged: dict[tuple[str, bytes], tuple[str, Mapping[str, Any]]] = {}
        """What is wrong with each call, empty if nothing is, and its arguments as they are made."""
        self.is_active = mode == "on"
        """Whether the constant tool is there; without it found tools are declared."""

    @property
    def declares_finds(self) -> bool:
        """Whether the next finds are the first ones."""
        return self._mode == "auto" and not self.is_active

    def choose_declared(self, names: Sequence[str]) -> list[str]:
        """Return which of these finds are declared all the same: those marked as `strict`.

        Only arguments of declared tools are constrained. Where every tool is strict, a library does
        that by default, and to declare every find would cost more than it gives.
        """
        strict = self._offer.once("strict", lambda: _find_strict(self._offer))
        if len(strict) == len(self._offer.names):
            return []
        return [name for name in names if name in strict]

    def begin(self) -> None:
        """Have the constant tool from now on, beside the first finds."""
        self.is_active = self._mode != "off"

    def offer_tools(self, request: Json, search: Any, tools: Tools) -> Json:
        """Return the constant tools and the visible ones, and earlier calls as the model made them.

        Known tools are there as well: no result of a search has their definitions.
        """
        if not self.is_active:
            return self._provider.offer_tools(request, search, tools)
        dispatch = self._provider.function(self._name, DESCRIPTION, SCHEMA)
        declared = [search, dispatch, *tools.visible, *tools.known]
        direct = {*Offer(declared).names}
        through = make_dispatcher(self._name)

        def write_call(name: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
            if name in direct:
                return name, arguments
            return through(name, arguments)

        history = self._provider.history(request)
        written = change_calls(history, write_call)
        if written is not history:
            request = self._provider.with_history(request, written)
        return self._provider.with_tools(request, declared)

    def calls(self, response: Json) -> list[Call]:
        """Return the calls with the names of their tools."""
        resolved = self._resolve_calls(response)
        return self._provider.calls(resolved)

    def continue_request(self, request: Json, response: Json, results: Results) -> Json:
        """As the provider's, with the definitions of the tools that were found."""
        tools = self._provider.tools(request)
        history = self._provider.history(request)
        # A model that searches for what it was told behind a message has not read it there.
        results_there = [text for text in _find_texts(history) if FITTING not in text]
        defined = {*Offer(tools).names, *_find_all_defined(results_there)}
        worded = self._word_results(results, defined)
        return self._provider.continue_request(request, response, worded)

    def word_finds(self, tools: Sequence[Any]) -> str:
        """Return what is put behind a message that these tools fit."""
        return "\n".join([FITTING, *self._list_definitions(tools)])

    def leave_open(self, response: Json, results: Results, scope: str) -> None:
        """As the provider's, with the same definitions."""
        worded = self._word_results(results, ())
        self._provider.leave_open(response, worded, scope)

    def drop_calls(self, response: Json, name: str) -> Json:
        """Return the response with the calls of found tools, and without those of one tool."""
        resolved = self._resolve_calls(response)
        return self._provider.drop_calls(resolved, name)

    def find_referred(self, history: Sequence[Any]) -> set[str]:
        """Names of the tools that results of searches define."""
        texts_there = _find_texts(list(history))
        return _find_all_defined(texts_there)

    def open_stream(self, search_name: str) -> Stream:
        """Return a reader of the provider's streams that knows the constant tool."""
        return self._provider.open_stream(search_name, self._name, self._resolve)

    def _resolve_calls(self, response: Json) -> Json:
        """Return the response with calls that name their tools."""
        calls = self._provider.calls(response)
        is_called = any(call.name == self._name for call in calls)
        change = self._resolve if is_called else None
        return undo_dispatch(response, self._name, change)

    def _resolve(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """Return what a call of the constant tool stands for, if it names a tool, and is right."""
        if name != self._name:
            return name, arguments
        called = text_at(arguments, "name")
        if not called:
            return self._check(name, arguments)
        # Some models write the arguments beside the name.
        given = {key: arguments[key] for key in arguments if key not in ("name", "arguments")}
        given |= arguments_of(arguments.get("arguments"))
        return self._check(called, given)

    def _check(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """Return a call that can be made, and of any other a search that has the reason."""
        if name == self.searched_as or not self.searched_as:
            return name, arguments
        call = (name, encode(arguments))  # each is read several times of one response
        if call not in self._judged:
            self._judged[call] = self._judge(name, arguments)
        fault, filled = self._judged[call]
        if not fault:
            return name, filled
        return self.searched_as, {REFUSED: {"text": fault}}

    def _judge(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """Return what is wrong with a call, empty if nothing is, and its whole arguments."""
        if name == self._name:
            return f"`name` is missing. {DESCRIPTION}", arguments
        tool = self._offer.by_name.get(name)
        if tool is None:
            fault = f"There is no tool {name}.{self._suggest(name)} Search for it."
            return fault, arguments
        schema = schema_of(tool)
        filled = fill_missing(schema, arguments)
        fault = find_misfit(schema, filled)
        if fault:
            definition = _write_definition(tool)
            fault = f"The call of {name} was not made: {fault}. Its definition:\n{definition}"
        return fault, filled

    def _suggest(self, name: str) -> str:
        """Return which names are like an unknown one, as a sentence; empty if none is."""
        names = self._offer.names
        if len(names) > MAX_COMPARED_NAMES:
            return ""
        near = get_close_matches(name, names, MAX_SUGGESTIONS)
        return f" Near: {', '.join(near)}." if near else ""

    def _word_results(self, results: Results, defined: Collection[str]) -> list[SearchResult]:
        """Return results as the model reads them: those of wrong calls under the name it called."""
        if not self.is_active:
            return list(results)
        worded = []
        for result in results:
            if find_refusal(result.call):
                called = result.call._replace(name=self._name)
                changed = result._replace(call=called)
            else:
                text = self._define(result, defined)
                changed = result._replace(text=text)
            worded.append(changed)
        return worded

    def _define(self, answered: SearchResult, defined: Collection[str]) -> str:
        """Define the tools that are not `defined`, which the conversation has defined before."""
        named = [(read_texts(tool)[0], tool) for tool in answered.tools]
        new = [tool for name, tool in named if name not in defined]
        if not new:
            return answered.text
        # The definitions name the tools, so the lines that do are left out.
        earlier = {f"- {name}" for name, _ in named if name in defined}
        lines = []
        for line in answered.text.splitlines():
            beginning, _, _ = line.partition(":")
            if not line.startswith("- ") or beginning in earlier:
                lines.append(line)
        return "\n".join([*lines, *self._list_definitions(new)])

    def _list_definitions(self, tools: Sequence[Any]) -> list[str]:
        """Return the lines that say how tools are called, and define them."""
        return [_HEADING.format(name=self._name), *map(_write_definition, tools)]


def _find_strict(offer: Offer) -> frozenset[str]:
    """Return the names of the tools whose arguments are to be constrained."""
    return frozenset(name for name, tool in offer.by_name.items() if _is_strict(mapping(tool)))


def _is_strict(tool: Json) -> bool:
    return any(one.get("strict") is True for one in (tool, mapping(tool.get("function"))))


def find_refusal(call: Call) -> str:
    """Return why a call that is answered as a search was not made; empty for a search."""
    return text_at(mapping(call.arguments.get(REFUSED)), "text")


def _write_definition(tool: Any) -> str:
    name, description = read_texts(tool)
    parameters = drop_titles(schema_of(tool))
    about = {"name": name, "description": description, "parameters": parameters}
    return encode(about).decode()


def _find_all_defined(texts: Iterable[str]) -> set[str]:
    return {name for text in texts for name in _find_defined(text)}


def _find_defined(text: str) -> list[str]:
    """Return the names of the tools that a text defines, each in a line of its own."""
    if _DEFINITION not in text:
        return []
    lines = [line for line in text.splitlines() if line.startswith(_DEFINITION)]
    definitions = map(object_of, lines)
    return [definition["name"] for definition in definitions if definition]


def _find_texts(value: Any) -> list[str]:
    """Return all texts in a JSON-like value."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = [*value.values()]
    if not isinstance(value, list):
        return []
    return [text for part in value for text in _find_texts(part)]
