"""The interface of a provider: its requests and its responses, and what most providers share.

Requests and responses are plain JSON-like dicts. None of these functions changes what it is given.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from toolscout.common.lru import Lru
from toolscout.turns.providers.calls import (
    UNNAMED,
    Call,
    Change,
    Remover,
    call_in,
    is_other,
    walk_parts,
)
from toolscout.turns.providers.fields import (
    Json,
    change_at,
    encode,
    has_more,
    mapping,
    mappings,
    names_once,
    text_at,
    text_of,
)
from toolscout.turns.providers.stream import LAST_IDS, Stream

OPEN_RESULTS: Lru[str, list[Json]] = Lru(32 * 1024 * 1024)
"""Search results by caller and response id, bounded by their bytes as JSON.

They are kept for responses that make other calls, too, and hold definitions of one caller.
"""

ProviderName = Literal[
    "openai", "openai-responses", "anthropic", "bedrock", "bedrock-anthropic", "gemini"
]


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


Results = Sequence[SearchResult]


class Choice(NamedTuple):
    """What a request says about calls."""

    must_call: bool = False
    """Whether it must call a tool, whichever."""
    names: Sequence[str] = ()
    """The tools that it forces or allows, which must be declared."""


class Provider:
    """One provider's shapes; what is defined here holds for most of them."""

    name: ProviderName
    usage_key = "usage"
    """Where a response has its usage."""
    stream: type[Stream] | None = None
    """Reads a stream; None: streams are passed on unread."""
    max_tools: int | None = None
    """Maximum number of tools that a request may hold; None without a known one."""
    search_name: str | None = None
    """The name of every search call, where the provider has a search tool without a name."""
    history_key: str = "messages"
    """Where a request has its conversation."""
    parts_key: str = "content"
    """Where a turn of the conversation has its words."""
    text_type: str = "text"
    """The `type` of a part with a text; empty where parts have none."""
    response_path: tuple[str, ...] = ("content",)
    """Where a response has the parts of the model's turn, calls among them. A list on the way
    holds several answers, of which a loop can continue the first."""
    default_role: str | None = None
    """The role of a turn that names none."""
    signed: tuple[str, ...] = ()
    """Where a call may have a signature of thoughts."""
    loading_id = "found{:04d}"
    """The id of a call that was made for the model, by the length of its conversation."""
    previous_key = ""
    """Where a request names the response that it goes on from, if the provider stores them."""

    def is_deferring(self, request: Json) -> bool:
        """Return whether the model of a request loads deferred tools by itself."""
        return False

    def resume_request(self, request: Json, scope: str) -> Json:
        """Return the request with what the client cannot know of turns that it never saw.

        A provider that stores responses keeps them as the model wrote them, and refuses to go on
        without the result of each of their calls.
        """
        previous = self.previous(request)
        last = LAST_IDS.get(previous) or previous
        results = OPEN_RESULTS.get(f"{scope}\n{last}")
        if results is not None:
            request = self.add_results(request, results)
        return request if last == previous else self.continue_from(request, last)

    def leave_open(self, response: Json, results: Results, scope: str) -> None:
        """Note the results of searches in a response whose other calls the client answers.

        Nothing is noted where the client's next request has no trace of the searches.
        """
        if name := self.find_stored_id(response):
            kept = self.results(results)
            OPEN_RESULTS.put(f"{scope}\n{name}", kept, len(encode(kept)))

    def open_stream(
        self, search_name: str, dispatch_name: str = "", change: Change | None = None
    ) -> Stream:
        """Return a reader of a stream, where there is one; its arguments are those of `Stream`."""
        assert self.stream is not None
        return self.stream(search_name, dispatch_name, change)

    def tools(self, request: Json) -> list[Any]:
        """Return the tools of a request, unchanged, built-ins among them."""
        tools = request.get("tools") or []
        return tools if isinstance(tools, list) else list(tools)

    def with_tools(self, request: Json, tools: Sequence[Any]) -> Json:
        """Return the request with other tools; without any, no key, because `[]` is refused."""
        rest = {key: value for key, value in request.items() if key != "tools"}
        return {**rest, "tools": list(tools)} if tools else rest

    def offer_tools(self, request: Json, search: Any, tools: Tools) -> Json:
        """Return the request with the search tool, and the tools that the model is to see.

        Found tools come last, so that the tools before them stay byte for byte. Where the provider
        loads tools by itself, all others are declared as deferred.
        """
        return self.with_tools(request, [search, *tools.visible, *tools.known, *tools.found])

    def previous(self, request: Json) -> str:
        """Return the id of the stored response that a request goes on from; empty without one."""
        return text_at(request, self.previous_key)

    def continue_from(self, request: Json, name: str) -> Json:
        """Return a request that goes on from another response."""
        return {**request, self.previous_key: name}

    def find_stored_id(self, response: Json) -> str:
        """Return the id under which the provider has stored a response; empty if it has not."""
        return text_at(response, "id") if self.previous_key else ""

    def is_keeping_tools(self, request: Json) -> bool:
        """Return whether the provider keeps the tools of a request for those that go on from it."""
        return False

    def history(self, request: Json) -> list[Any]:
        """Return the messages of the conversation as they are there, oldest first."""
        messages = request.get(self.history_key)
        return list(messages) if isinstance(messages, list) else []

    def with_history(self, request: Json, history: Sequence[Any]) -> Json:
        """Return the request with other messages."""
        return {**request, self.history_key: list(history)}

    def find_referred(self, history: Sequence[Any]) -> set[str]:
        """Return names of tools that the results of searches in a history have loaded."""
        return set()

    def turns(self, request: Json) -> list[Json]:
        """Return the messages of the conversation as dicts, oldest first."""
        return mappings(self.history(request))

    def user_turns(self, request: Json) -> list[Json]:
        """Return those of the user, oldest first."""
        return [turn for turn in self.turns(request) if self._is_users(turn)]

    def query(self, request: Json) -> str:
        """Return the text of the user's last message with any; results of calls have none."""
        turns = reversed(self.user_turns(request))
        return next(filter(None, (text_of(turn.get(self.parts_key)) for turn in turns)), "")

    def last_words(self, request: Json) -> str:
        """Return the text of the last message; empty if it has none."""
        return "".join(text_of(turn.get(self.parts_key)) for turn in self.turns(request)[-1:])

    def first_message(self, request: Json) -> Any:
        """Return the first message of a user, which names the session; None if there is none."""
        return next(iter(self.user_turns(request)), None)

    def is_ending_with_user(self, request: Json) -> bool:
        """Return whether a request ends with a user's words, not with results of calls."""
        last = self.turns(request)[-1:]
        return any(self._is_users(turn) and has_more(turn, self.parts_key) for turn in last)

    def recent(self, request: Json) -> list[str]:
        """Return names of tools that the conversation has called already, each once."""
        parts = (part for turn in self.turns(request) for part in walk_parts(turn))
        return names_once(call.name for part in parts if (call := call_in(part)) and call.name)

    def has_to_pass(self, request: Json) -> bool:
        """Return whether a request goes on unsearched: nobody could remove a search later."""
        return False

    def choices(self, request: Json) -> int:
        """Return how many answers a request asks for; a search can go on only in a single one."""
        return 1

    def choice(self, request: Json) -> Choice:
        """Return what a request says about calls."""
        value = request.get("tool_choice")
        choice = mapping(value)
        kind = value if isinstance(value, str) else choice.get("type")
        allowed = mapping(choice.get("allowed_tools")) or choice
        tools = (choice, *mappings(allowed.get("tools")))
        names = names_once(mapping(t.get("function")).get("name") or t.get("name") for t in tools)
        return Choice(kind in ("required", "any"), names)

    def forbid_calls(self, request: Json) -> Json:
        """Return the request of a model that may call nothing, where the interface has that."""
        return {**request, "tool_choice": "none"}

    @abstractmethod
    def function(self, name: str, description: str, schema: Json) -> Any:
        """Return the definition of a tool with an input of this JSON Schema."""

    def turn_of(self, response: Json) -> Json:
        """Return the model's turn in a response, the first where it has several."""
        turn: Any = response
        for key in self.response_path[:-1]:
            turn = mapping(turn).get(key)
            turn = next(iter(turn), None) if isinstance(turn, list) else turn
        return mapping(turn)

    def parts_of(self, turn: Json) -> list[Json]:
        """Return the parts of a turn, calls among them."""
        return mappings(turn.get(self.response_path[-1]))

    def _read(self, response: Json) -> list[tuple[Json, Call | None]]:
        """Return the parts of the model's turn, and the calls that they are."""
        read: list[tuple[Json, Call | None]] = []
        for place, part in enumerate(self.parts_of(self.turn_of(response))):
            called = call_in(part)
            if called is not None and not called.id:
                called = called._replace(id=f"{UNNAMED}{place}")
            read.append((part, called))
        return read

    def calls(self, response: Json) -> list[Call]:
        """Return the tool calls of a response, in order."""
        return [call for _, call in self._read(response) if call is not None and call.name]

    def is_asking_for_more(self, response: Json) -> bool:
        """Return whether a response asks the client for something else than functions."""
        return any(call is not None and is_other(part) for part, call in self._read(response))

    def answered(self, response: Json, results: Results) -> list[Json]:
        """Return the parts of the model's turn, but no call without a result."""
        answered = {call.id for call, *_ in results}
        return [part for part, call in self._read(response) if call is None or call.id in answered]

    def continue_request(self, request: Json, response: Json, results: Results) -> Json:
        """Return the request with the model's turn and the results of its calls appended."""
        turn = self.make_turn(request, response, self.answered(response, results))
        history = [*self.turns(request), *turn, *self.results(results)]
        return self.with_history(request, history)

    def results(self, results: Results) -> list[Json]:
        """Return the results of searches as a request has them."""
        return list(map(self.result, results))

    @abstractmethod
    def result(self, answered: SearchResult) -> Json:
        """Return the result of one search."""

    def add_results(self, request: Json, results: list[Json]) -> Json:
        """Return a request with results before what it has."""
        return self.with_history(request, [*results, *self.history(request)])

    def needs_thoughts(self, request: Json) -> bool:
        """Return whether the model has to be told again what it thought before a call."""
        return False

    def can_take_made_up_call(self, request: Json) -> bool:
        """Return whether a search that was made for the model may end a conversation."""
        return not self.needs_thoughts(request)

    def make_text(self, words: str) -> Json:
        """Return a part with a text."""
        kind = {"type": self.text_type} if self.text_type else {}
        return {**kind, "text": words}

    def add_words(self, message: Json, words: str) -> Json:
        """Return a message with words behind what it has."""
        content = message.get(self.parts_key)
        if isinstance(content, str):
            longer: Any = f"{content}\n\n{words}"
        else:
            longer = [*(content or []), self.make_text(words)]
        return {**message, self.parts_key: longer}

    def add_last_words(self, request: Json, words: str) -> Json:
        """Return a request with words behind its last message."""
        *before, last = self.history(request)
        return self.with_history(request, [*before, self.add_words(mapping(last), words)])

    @abstractmethod
    def make_search(self, call: Call) -> Json:
        """Return a response that makes one call, as if the model had made it."""

    @abstractmethod
    def make_turn(self, request: Json, response: Json, parts: list[Json]) -> list[Json]:
        """Return the model's turn with these of its parts, as a later request has it."""

    def drop_calls(self, response: Json, name: str) -> Json:
        """Return the response without calls of one tool, as if they had never been made."""

        def kept(parts: list[Json]) -> list[Json]:
            return Remover(name, *self.signed).kept(parts)

        changed: Json = change_at(response, self.response_path, kept)
        return response if changed is response else self.end_response(changed)

    def end_response(self, response: Json) -> Json:
        """Return a response without searches with the end that it has without them."""
        return response

    def _is_users(self, turn: Json) -> bool:
        return turn.get("role", self.default_role) == "user"
