"""The interface of a provider: its requests and its responses, and what most providers share.

Requests and responses are plain JSON-like dicts. None of these functions changes what it is given.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from toolscout.discovery.providers.fields import (
    Json,
    arguments_of,
    has_more,
    mapping,
    mappings,
    names_once,
    text_of,
)
from toolscout.discovery.providers.stream import Stream

ProviderName = Literal[
    "openai", "openai-responses", "anthropic", "bedrock", "bedrock-anthropic", "gemini"
]


class Call(msgspec.Struct, frozen=True):
    """One call of a tool by the model."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    """Empty if they are missing or no JSON object."""

    @property
    def query(self) -> str:
        """The query of a search call: a text or a list of some, perhaps under another key."""
        values = self.arguments.values()
        texts = [text for value in values if (text := _joined(value)).strip()]
        return _joined(self.arguments.get("query")) or (texts[0] if len(texts) == 1 else "")


class Tools(NamedTuple):
    """The tools of a turn, as the caller wrote them."""

    all: Sequence[Any]
    """In the order of the request, built-ins among them."""
    visible: Sequence[Any]
    """Those that the model sees in all requests of the conversation, and the built-ins."""
    known: Sequence[Any]
    """Those that it knows from before this turn, without a result in the history."""
    found: Sequence[Any]
    """Those that its searches of this turn have brought."""


class SearchResult(NamedTuple):
    """A search of the model, and what it is told."""

    call: Call
    text: str
    tools: Sequence[Any]
    """The definitions of the tools that were found, as the caller wrote them."""


class OpenStream(Protocol):
    """Makes the reader of a stream."""

    def __call__(self, search_name: str, dispatch_name: str = "") -> Stream:
        """Make it from the names of the search tool and of that through which tools are called."""


Called = tuple[Any, Any, Any]
"""The id, the name and the arguments of a call, as the provider wrote them."""


class Provider:
    """One provider's shapes; what is defined here holds for most of them."""

    name: ProviderName
    usage_keys: tuple[str, ...] = ("usage",)
    """Where a response has its usage."""
    stream: OpenStream | None = None
    """Reads a stream; None: streams are passed on unread."""
    max_tools: int | None = None
    """Maximum number of tools that a request may hold; None without a known one."""
    search_name: str | None = None
    """The name of every search call, where the provider has a search tool without a name."""
    history_key: str = "messages"
    """Where a request has its conversation."""
    parts_key: str = "content"
    """Where a turn of the conversation has its parts."""
    default_role: str | None = None
    """The role of a turn that names none."""

    def defers(self, request: Json) -> bool:
        """Return whether the model of a request loads deferred tools by itself."""
        return False

    def resumed(self, request: Json) -> Json:
        """Return the request with what the client cannot know of turns that it never saw."""
        return request

    def leave_open(self, response: Json, results: Sequence[SearchResult]) -> None:
        """Note the results of searches in a response whose other calls the client answers.

        Nothing is noted where the client's next request has no trace of the searches.
        """

    def tools(self, request: Json) -> list[Any]:
        """Return the tools of a request, unchanged, built-ins among them."""
        return list(request.get("tools") or [])

    def with_tools(self, request: Json, tools: Sequence[Any]) -> Json:
        """Return the request with other tools; without any, no key, because `[]` is refused."""
        rest = {key: value for key, value in request.items() if key != "tools"}
        return {**rest, "tools": list(tools)} if tools else rest

    def offered(self, request: Json, search: Any, tools: Tools) -> Json:
        """Return the request with the search tool, and the tools that the model is to see.

        Found tools come last, so that the tools before them stay byte for byte. Where the provider
        loads tools by itself, all others are declared as deferred.
        """
        return self.with_tools(request, [search, *tools.visible, *tools.known, *tools.found])

    def previous(self, request: Json) -> str:
        """Return the id of the stored response that a request goes on with; empty without one."""
        return ""

    def stored_as(self, response: Json) -> str:
        """Return the id under which the provider has stored a response; empty if it has not."""
        return ""

    def history(self, request: Json) -> list[Any]:
        """Return the messages of the conversation as they are there, oldest first."""
        found = request.get(self.history_key)
        return list(found) if isinstance(found, list) else []

    def with_history(self, request: Json, history: Sequence[Any]) -> Json:
        """Return the request with other messages."""
        return {**request, self.history_key: list(history)}

    def referred(self, history: Sequence[Any]) -> set[str]:
        """Return names of tools that the results of searches in a history have loaded."""
        return set()

    def turns(self, request: Json) -> list[Json]:
        """Return the messages of the conversation as dicts, oldest first."""
        return mappings(self.history(request))

    def user_turns(self, request: Json) -> list[Json]:
        """Return those of the user, oldest first."""
        return [turn for turn in self.turns(request) if self._is_users(turn)]

    def query(self, request: Json) -> str:
        """Return the text of the user's last message; empty if there is none."""
        turns = self.user_turns(request)
        return text_of(turns[-1].get(self.parts_key)) if turns else ""

    def first_message(self, request: Json) -> Any:
        """Return the first message of a user, which names the session; None if there is none."""
        return next(iter(self.user_turns(request)), None)

    def ends_with_user(self, request: Json) -> bool:
        """Return whether a request ends with a user's words, not with results of calls."""
        last = self.turns(request)[-1:]
        return any(self._is_users(turn) and has_more(turn, self.parts_key) for turn in last)

    def recent(self, request: Json) -> list[str]:
        """Return names of tools that the conversation has called already, each once."""
        parts = (part for turn in self.turns(request) for part in self.parts_of(turn))
        return names_once(call[1] for part in parts if (call := self.call_in(part)))

    def passes(self, request: Json) -> bool:
        """Return whether no search may be in it: the provider keeps it, or answers elsewhere."""
        return False

    def may_search(self, request: Json) -> bool:
        """Return whether the model may call a search tool: no choice forbids or lists calls."""
        choice = request.get("tool_choice")
        kind = choice if isinstance(choice, str) else mapping(choice).get("type")
        return kind not in ("none", "allowed_tools")

    def choices(self, request: Json) -> int:
        """Return how many answers a request asks for; a search can go on only in a single one."""
        return 1

    def listed(self, request: Json) -> list[str]:
        """Return names of the tools that a request forces or allows; they must be declared."""
        choice = mapping(request.get("tool_choice"))
        allowed = mapping(choice.get("allowed_tools")) or choice
        tools = (choice, *mappings(allowed.get("tools")))
        return names_once(mapping(t.get("function")).get("name") or t.get("name") for t in tools)

    def must_call(self, request: Json) -> bool:
        """Return whether the model must call a tool, whichever: `required` (OpenAI) or `any`."""
        choice = request.get("tool_choice")
        return choice == "required" or mapping(choice).get("type") == "any"

    @abstractmethod
    def function(self, name: str, description: str, schema: Json) -> Any:
        """Return the definition of a tool with an input of this JSON Schema."""

    @abstractmethod
    def turn_of(self, response: Json) -> Json:
        """Return the model's turn in a response, the first where it has several."""

    def parts_of(self, turn: Json) -> list[Json]:
        """Return the parts of a turn, calls among them."""
        return mappings(turn.get(self.parts_key))

    @abstractmethod
    def call_in(self, part: Json, place: int = 0) -> Called | None:
        """Return the call that a part of a turn is; None if it is something else."""

    def calls(self, response: Json) -> list[Call]:
        """Return the tool calls of a response, in order."""
        parts = enumerate(self.parts_of(self.turn_of(response)))
        found = [call for place, part in parts if (call := self.call_in(part, place))]
        return [
            Call(str(id_ or ""), name, arguments_of(raw))
            for id_, name, raw in found
            if isinstance(name, str)
        ]

    def answered(self, response: Json, results: Sequence[SearchResult]) -> list[Json]:
        """Return the parts of the model's turn, but no call without a result."""
        known = {call.id for call, *_ in results}
        return [
            part
            for place, part in enumerate(self.parts_of(self.turn_of(response)))
            if (call := self.call_in(part, place)) is None or call[0] in known
        ]

    @abstractmethod
    def continued(self, request: Json, response: Json, results: Sequence[SearchResult]) -> Json:
        """Return the request with the model's turn and the results of its calls appended."""

    @abstractmethod
    def without_calls(self, response: Json, name: str) -> Json:
        """Return the response without calls of one tool, as if they had never been made."""

    def _is_users(self, turn: Json) -> bool:
        return turn.get("role", self.default_role) == "user"


def _joined(value: Any) -> str:
    """Return a text, or those of a list as one."""
    if isinstance(value, list):
        return " ".join(filter(None, map(_joined, value)))
    return value if isinstance(value, str) else ""


QUERY_SCHEMA: Json = {
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "description": "What the tool should do, in a few words, or its name",
        }
    },
    "required": ["query"],
}
"""The input of the search tool."""
