"""Providers whose models load deferred tools by themselves; a search is answered by the caller.

The model sees a hidden tool from the result that loads it on: the declarations before the
conversation stay the same, and so does the start of the prompt in the provider's cache.

Anthropic: every tool is declared, hidden ones with `defer_loading: true`; the result of a custom
search tool has a `tool_reference` for each tool.
OpenAI: `{"type": "tool_search", "execution": "client"}` is declared beside the visible functions
alone; the model asks with an item `tool_search_call`, and the `tool_search_output` has the
definitions.
A conversation that began with such a model may go on with another, which refuses the
`tool_reference` blocks and the items of searches in its history. They are written out as text, what
they name stays visible, and marked tools are searched here.
Sources: Anthropic's documentation of tool search with a custom search tool, and OpenAI's of
client-executed tool search.
"""

import re
from abc import abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from toolscout.client.offer import Offer
from toolscout.tools.shapes import name_of
from toolscout.turns.providers.anthropic import Anthropic
from toolscout.turns.providers.calls import Call
from toolscout.turns.providers.fields import Json, change_at, mapping, mappings
from toolscout.turns.providers.provider import Provider, Results, SearchResult, Tools
from toolscout.turns.providers.responses import NATIVE, OpenAIResponses, group, is_search

_VERSIONS = {
    "claude": re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)"),
    # One digit: Azure writes 3.5 as `gpt-35-turbo`.
    "gpt": re.compile(r"gpt-(\d)(?:\.(\d{1,2}))?(?!\d)"),
}


@lru_cache(256)
def version_of(family: str, model: str) -> tuple[int, int]:
    """Return the version in a model's name, as `(4, 5)`; `(0, 0)` for other families or none.

    Dates are no versions: `claude-sonnet-4-20250514` is `(4, 0)`.
    """
    match = _VERSIONS[family].search(model.lower())
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)


FIRST = {"claude": (4, 5), "gpt": (5, 4)}
"""Of each family, the first version that loads deferred tools and has a search of its own."""

_FAMILIES = {"openai-responses": "gpt", "anthropic": "claude"}
"""Of each interface whose conversations hold searches, the models that read them."""


def loads_tools(interface: str, model: Any) -> bool:
    """Return whether a model may load deferred tools; False only where it certainly does not."""
    family = _FAMILIES.get(interface)
    if family is None or not isinstance(model, str):
        return True  # Bedrock has it in the path
    return version_of(family, model) >= FIRST[family]


MARK = "defer_loading"

_SEARCH = re.compile("tool_search.*|openrouter:tool_search")
"""Values of `type` of the providers' own search tools."""


def is_deferring(tool: Any) -> bool:
    """Return whether an entry of a request is deferred, or a search: its caller's own business."""
    fields = mapping(tool)
    kind = fields.get("type")
    if isinstance(kind, str) and _SEARCH.fullmatch(kind):
        return True
    return bool(fields.get(MARK) or mapping(fields.get("function")).get(MARK))


MAX_REFERENCE_CHARS = 64
"""Characters of a `tool_reference`; the name of a tool may have 128."""

MAX_DECLARED = 10_000
"""Tools that Anthropic's API declines to have declared."""


class Native(Provider):
    """Base of both: which models load tools, and how tools are declared to them."""

    declares_hidden = True
    """Whether hidden tools are declared, so that a request may name one in its `tool_choice`."""

    @abstractmethod
    def can_defer(self, tool: Json) -> bool:
        """Return whether a tool can be deferred; built-ins cannot."""

    def deferred(self, tool: Any) -> Any:
        """Return a tool as one that is loaded later; a built-in as it is."""
        fields = mapping(tool)
        return {**fields, MARK: True} if self.can_defer(fields) else tool

    def undeferred(self, offer: Offer) -> list[str]:
        """Return the names of the tools that cannot be deferred."""
        tools = offer.by_name.items()
        return offer.once(
            (self.name, "undeferred"),
            lambda: [name for name, tool in tools if not self.can_defer(mapping(tool))],
        )

    def is_deferring(self, request: Json) -> bool:
        """Return whether the model is of a version that loads tools."""
        return loads_tools(self.name, str(request.get("model")))

    def offer_tools(self, request: Json, search: Any, tools: Tools) -> Json:
        """Declare the tools where they were, visible or `hidden`; the history has those found."""
        seen = set(map(id, (*tools.visible, *tools.known)))
        written = [[tool] if id(tool) in seen else self.hidden(tool) for tool in tools.all]
        return self.with_tools(request, [search, *(tool for one in written for tool in one)])

    def hidden(self, tool: Any) -> list[Any]:
        """Return how a tool that is not visible is declared, if it is."""
        return [self.deferred(tool)]


class NativeResponses(Native, OpenAIResponses):
    """`POST /v1/responses` with `defer_loading`.

    Hidden functions are not declared: the results of searches define those they load, and of a
    deferred function the model would read the name and the description all the same.
    """

    search_name: str | None = NATIVE
    max_tools: int | None = None
    declares_hidden = False

    def can_defer(self, tool: Json) -> bool:
        """Return whether it is a function."""
        return tool.get("type") == "function"

    def hidden(self, tool: Any) -> list[Any]:
        """Return a built-in as it is, and nothing for a function."""
        return [] if self.can_defer(mapping(tool)) else [tool]

    def function(self, name: str, description: str, schema: Json) -> Any:
        """Return the search tool, which has no name."""
        execution = {"type": NATIVE, "execution": "client"}
        return {**execution, "description": description, "parameters": schema}

    def calls(self, response: Json) -> list[Call]:
        """Return the calls of functions, and the searches that are the caller's to answer."""
        searches = [
            Call(str(item.get("call_id") or ""), NATIVE, item.get("arguments"))
            for item in mappings(response.get("output"))
            if is_search(item, NATIVE)
        ]
        return [*super().calls(response), *searches]

    def add_last_words(self, request: Json, words: str) -> Json:
        """Return the request with an item of the developer at its end."""
        item = {"role": "developer", "content": words}
        return self.with_history(request, [*self.history(request), item])

    def make_search(self, call: Call) -> Json:
        """Return a response of one item."""
        search = {"type": "tool_search_call", "execution": "client", "status": "completed"}
        return {"output": [{**search, "call_id": call.id, "arguments": dict(call.arguments)}]}

    def results(self, results: Results) -> list[Json]:
        """Return the definitions that each search loads."""
        over = {"status": "completed", "execution": "client"}
        outputs: list[Json] = [
            {
                "type": "tool_search_output",
                "call_id": call.id,
                **over,
                "tools": group(map(self.deferred, tools)),
            }
            for call, _, tools in results
        ]
        # Such an output has no room for words, and nothing in it says why it is empty.
        words = [{"role": "developer", "content": text} for _, text, tools in results if not tools]
        return [*outputs, *words]

    def find_referred(self, history: Sequence[Any]) -> set[str]:
        """Names of the functions in `tool_search_output` items."""
        items = mappings(list(history))
        outputs = [item for item in items if item.get("type") == "tool_search_output"]
        names = (mapping(tool).get("name") for item in outputs for tool in self.tools(item))
        return {name for name in names if isinstance(name, str)}


class NativeAnthropic(Native, Anthropic):
    """`POST /v1/messages` with `defer_loading`."""

    def can_defer(self, tool: Json) -> bool:
        """Return whether it has a schema, and a name that a reference may have."""
        return "input_schema" in tool and len(str(tool.get("name"))) <= MAX_REFERENCE_CHARS

    def is_deferring(self, request: Json) -> bool:
        """Return whether no more tools are there than may be declared, too."""
        return super().is_deferring(request) and len(self.tools(request)) < MAX_DECLARED

    def result(self, answered: SearchResult) -> Json:
        """Return a result that refers to the tools it loads; only declared ones may be."""
        block = super().result(answered)
        names = [mapping(tool)["name"] for tool in answered.tools if self.can_defer(mapping(tool))]
        loaded = [{"type": "tool_reference", "tool_name": name} for name in names]
        return {**block, "content": loaded or block["content"]}

    def find_referred(self, history: Sequence[Any]) -> set[str]:
        """Names in `tool_reference` blocks."""
        return {
            name
            for message in mappings(list(history))
            for block in mappings(message.get("content"))
            for inner in mappings(block.get("content"))
            if isinstance(name := inner.get("tool_name"), str)
        }


REFERENCE = "tool_reference"

_OWN_SEARCH = "tool_search_tool"
"""What the name of Anthropic's own search begins with."""

_OWN_RESULT = "tool_search_tool_result"
"""The `type` of what Anthropic's own search found."""

_PARTS = ("tool_search_call", "tool_search_output")
"""Values of `type` of the items that a search leaves in OpenAI's conversations."""


class WrittenOut(NamedTuple):
    """A request without a trace of earlier searches, where its model could not read that."""

    request: Json
    tools: list[Any]
    """Its tools, without marks."""
    visible: Sequence[str] = ()
    """Names of tools that stay visible: those that were found, and without a mark among marked."""


def write_out(provider: Provider, request: Json, tools: list[Any]) -> WrittenOut:
    """Write the references of a conversation out, if there are any and they cannot stay."""
    if loads_tools(provider.name, request.get("model")):
        return WrittenOut(request, tools)
    history = provider.history(request)
    names = list[str]()
    left = [_drop_searches(message, names, provider) for message in history]
    kept = [message for message in left if message is not None]
    if kept == history:
        return WrittenOut(request, tools)
    plain = [_unmark(tool) for tool in tools]
    if plain != tools:
        names += [name_of(mapping(tool)) for tool in tools if not is_deferring(tool)]
    request = provider.with_tools(provider.with_history(request, kept), plain)
    return WrittenOut(request, plain, names)


def _unmark(tool: Any) -> Any:
    fields = mapping(tool)
    return {key: one for key, one in fields.items() if key != MARK} if MARK in fields else tool


def _drop_searches(message: Any, names: list[str], provider: Provider) -> Any:
    """Return what is left of a message or an item, or None; what was found goes to `names`."""
    fields = mapping(message)
    if fields.get("type") in _PARTS:
        names += [name_of(mapping(tool)) for tool in provider.tools(fields)]
        return None
    left = change_at(message, ("content",), lambda parts: _put_in_words(parts, names))
    return None if left is not message and not left["content"] else left


def _put_in_words(parts: list[Json], found: list[str]) -> list[Json]:
    """Return the parts of a message whose results name tools as text, without a provider's own."""

    def named(inner: list[Json]) -> list[Json]:
        names = [str(one.get("tool_name")) for one in inner if one.get("type") == REFERENCE]
        if not names:
            return inner
        found.extend(names)
        text = {"type": "text", "text": f"These tools are available now: {', '.join(names)}"}
        return [*(one for one in inner if one.get("type") != REFERENCE), text]

    kept = []
    for part in parts:
        if part.get("type") == _OWN_RESULT:
            content = mapping(part.get("content"))
            found += [str(one.get("tool_name")) for one in mappings(content.get("tool_references"))]
        elif not (part.get("type") == "server_tool_use" and _OWN_SEARCH in str(part.get("name"))):
            is_result = part.get("type") == "tool_result"
            kept.append(change_at(part, ("content",), named) if is_result else part)
    return kept
