"""The interface of a provider: its requests, its responses and its stream.

Requests and responses are plain JSON-like dicts. None of these functions changes what it is given.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from toolscout.discovery import wire

Json = dict[str, Any]

ProviderName = Literal[
    "openai", "openai-responses", "anthropic", "bedrock", "bedrock-anthropic", "gemini"
]


_RESULTS = frozenset(("toolResult", "functionResponse", "function_response"))
"""Keys of a part that is the result of a call."""


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


class Answered(NamedTuple):
    """A search of the model, and what it is told."""

    call: Call
    text: str
    tools: Sequence[Any]
    """The definitions of the tools that were found, as the caller wrote them."""


class Stream(Protocol):
    """One turn of the client, made of one or more streams of the model.

    All events are passed on as they come, except calls of the search tool and the end of the turn,
    which is sent only after a turn without a search.
    """

    wrote: bool
    """Whether any part of the model's current turn was sent to the client."""

    def feed(self, chunk: bytes) -> bytes:
        """Take bytes of the model, in any pieces; return the bytes for the client."""

    def response(self) -> Json:
        """Return the model's turn as a response without streaming."""

    def next_turn(self) -> None:
        """Begin another turn of the model, after a search."""

    def finish(self) -> bytes:
        """End the client's turn; return the events that were held back."""

    def rest(self) -> bytes:
        """Return the bytes that no event ended yet; what follows them is not read."""

    def fail(self, status: int, error: Json) -> bytes:
        """End it with an error of the provider, in the form that its streams have for that."""


class OpenStream(Protocol):
    """Makes the reader of a stream."""

    def __call__(self, search_name: str, dispatch_name: str = "") -> Stream:
        """Make it from the names of the search tool and of that through which tools are called."""


class Provider(Protocol):
    """One provider's shapes."""

    name: ProviderName
    usage_keys: tuple[str, ...]
    """Where a response has its usage."""
    stream: OpenStream | None
    """Reads a stream; None: streams are passed on unread."""
    max_tools: int | None
    """Maximum number of tools that a request may hold; None without a known one."""
    search_name: str | None
    """The name of every search call, where the provider has a search tool without a name."""

    def defers(self, request: Json) -> bool:
        """Whether the model of a request loads deferred tools by itself."""

    def resumed(self, request: Json) -> Json:
        """The request with what the client cannot know of the turns that it never saw."""

    def leave_open(self, response: Json, results: Sequence[Answered]) -> None:
        """Note the results of searches in a response whose other calls the client answers."""

    def tools(self, request: Json) -> list[Any]:
        """The tools of a request, unchanged."""

    def with_tools(self, request: Json, tools: Sequence[Any]) -> Json:
        """The request with other tools."""

    def offered(self, request: Json, search: Any, tools: Tools) -> Json:
        """The request with the search tool, and with the tools that the model is to see.

        Where the provider loads tools by itself, all others are declared as deferred.
        """

    def previous(self, request: Json) -> str:
        """The id of the stored response that a request goes on with; empty without one."""

    def stored_as(self, response: Json) -> str:
        """The id under which the provider has stored a response; empty where it stores none."""

    def history(self, request: Json) -> list[Any]:
        """The messages of the conversation as they are there, oldest first."""

    def with_history(self, request: Json, history: Sequence[Any]) -> Json:
        """The request with other messages."""

    def referred(self, history: Sequence[Any]) -> set[str]:
        """Names of tools that the results of searches in a history have loaded."""

    def query(self, request: Json) -> str:
        """The text of the user's last message; empty if there is none."""

    def first_message(self, request: Json) -> Any:
        """The first message of a user, which names the session; None when there is none."""

    def ends_with_user(self, request: Json) -> bool:
        """Whether a request ends with a user's message, and not with the results of calls."""

    def recent(self, request: Json) -> list[str]:
        """Names of tools that the conversation has called already, each once."""

    def passes(self, request: Json) -> bool:
        """Whether no search may be in a request: the provider keeps it, or answers it elsewhere."""

    def may_search(self, request: Json) -> bool:
        """Whether the model may call a search tool."""

    def choices(self, request: Json) -> int:
        """The number of answers that a request asks for; only of one can a search be continued."""

    def listed(self, request: Json) -> list[str]:
        """Names of the tools that a request forces or allows; they must be declared."""

    def must_call(self, request: Json) -> bool:
        """Whether the model must call some tool, whichever."""

    def function(self, name: str, description: str, schema: Json) -> Any:
        """The definition of a tool with an input of this JSON Schema."""

    def calls(self, response: Json) -> list[Call]:
        """The tool calls of a response, in order."""

    def continued(self, request: Json, response: Json, results: Sequence[Answered]) -> Json:
        """The request with the model's turn and the results of its calls appended."""

    def without_calls(self, response: Json, name: str) -> Json:
        """The response without calls of one tool, as if they had never been made."""


def has_more(turn: Json, key: str) -> bool:
    """Whether a turn has more under a key than results of calls, in any provider's shape."""
    parts = turn.get(key)
    return not isinstance(parts, list) or not all(map(_is_result, mappings(parts)))


def _is_result(part: Json) -> bool:
    return part.get("type") == "tool_result" or not _RESULTS.isdisjoint(part)


def _joined(value: Any) -> str:
    """A text, or those of a list as one."""
    if isinstance(value, list):
        return " ".join(filter(None, map(_joined, value)))
    return value if isinstance(value, str) else ""


def names_once(names: Iterable[Any]) -> list[str]:
    """Return the strings among some names, each once, in their order."""
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def arguments_of(raw: Any) -> Mapping[str, Any]:
    """Return arguments as a mapping, decoded if they are JSON text; empty otherwise."""
    if isinstance(raw, str | bytes):
        try:
            raw = wire.decode(raw)
        except wire.UNREADABLE:
            return {}
    return raw if isinstance(raw, Mapping) else {}


def mappings(value: Any) -> list[Json]:
    """Return the objects of a list as dicts; empty for anything else."""
    if not isinstance(value, list):
        return []
    return [found for item in value if (found := as_dict(item)) is not None]


def mapping(value: Any) -> Json:
    """An object as a dict; empty for anything else."""
    return as_dict(value) or {}


def as_dict(value: Any) -> Json | None:
    """A dict as it is, a pydantic object as the JSON that it was sent as; None for others."""
    if isinstance(value, dict):
        return value
    dump = getattr(value, "model_dump", None)
    if not callable(dump) or isinstance(value, type):
        return None
    try:
        found = dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
    except Exception:
        return None
    return found if isinstance(found, dict) else None


def text_of(content: Any, kinds: Sequence[str] = ("text", "input_text")) -> str:
    """The text of a message's content: a text, or the text parts of a list."""
    if isinstance(content, str):
        return content
    parts = [
        part["text"]
        for part in mappings(content)
        if part.get("type", "text") in kinds and isinstance(part.get("text"), str)
    ]
    return "\n".join(parts)


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
