"""What the shapes of most providers have in common."""

from collections.abc import Sequence
from typing import Any

from toolscout.discovery.providers.provider import (
    Answered,
    Json,
    OpenStream,
    Tools,
    has_more,
    mapping,
    mappings,
    names_once,
    text_of,
)


class Shape:
    """Base of all providers: what most of them have in common."""

    usage_keys: tuple[str, ...] = ("usage",)
    stream: OpenStream | None = None
    max_tools: int | None = None
    search_name: str | None = None
    history_key = "messages"

    def defers(self, request: Json) -> bool:
        """No."""
        return False

    def resumed(self, request: Json) -> Json:
        """The request itself: it has its whole conversation."""
        return request

    def leave_open(self, response: Json, results: Sequence[Answered]) -> None:
        """Do nothing: the client's next request has no trace of the searches."""

    def offered(self, request: Json, search: Any, tools: Tools) -> Json:
        """The found tools come last, so that the tools before them stay byte for byte."""
        return self.with_tools(request, [search, *tools.visible, *tools.known, *tools.found])

    def with_tools(self, request: Json, tools: Sequence[Any]) -> Json:
        """The request with other tools; without any, no key, because `[]` is refused."""
        rest = {key: value for key, value in request.items() if key != "tools"}
        return {**rest, "tools": list(tools)} if tools else rest

    def previous(self, request: Json) -> str:
        """None."""
        return ""

    def stored_as(self, response: Json) -> str:
        """None."""
        return ""

    def history(self, request: Json) -> list[Any]:
        """The list under `history_key`."""
        found = request.get(self.history_key)
        return list(found) if isinstance(found, list) else []

    def with_history(self, request: Json, history: Sequence[Any]) -> Json:
        """The request with another list there."""
        return {**request, self.history_key: list(history)}

    def passes(self, request: Json) -> bool:
        """No."""
        return False

    def may_search(self, request: Json) -> bool:
        """Whether `tool_choice` neither forbids calls nor lists the allowed ones."""
        choice = request.get("tool_choice")
        kind = choice if isinstance(choice, str) else mapping(choice).get("type")
        return kind not in ("none", "allowed_tools")

    def choices(self, request: Json) -> int:
        """One."""
        return 1

    def listed(self, request: Json) -> list[str]:
        """Names in `tool_choice`."""
        choice = mapping(request.get("tool_choice"))
        allowed = mapping(choice.get("allowed_tools")) or choice
        tools = (choice, *mappings(allowed.get("tools")))
        return names_once(mapping(t.get("function")).get("name") or t.get("name") for t in tools)

    def must_call(self, request: Json) -> bool:
        """Whether `tool_choice` is `required` (OpenAI) or `any` (Anthropic)."""
        choice = request.get("tool_choice")
        return choice == "required" or mapping(choice).get("type") == "any"

    def referred(self, history: Sequence[Any]) -> set[str]:
        """None: found tools are in the request's tools."""
        return set()


class Turns(Shape):
    """Base of providers whose requests have turns with roles, and `tools`."""

    def turns(self, request: Json) -> list[Json]:
        """The conversation, oldest first."""
        return mappings(request.get("messages"))

    def tools(self, request: Json) -> list[Any]:
        """`tools`, including built-ins."""
        return list(request.get("tools") or [])

    def query(self, request: Json) -> str:
        """The text of the last turn of role `user`."""
        turns = self.user_turns(request)
        return text_of(turns[-1].get("content")) if turns else ""

    def first_message(self, request: Json) -> Any:
        """The first turn of role `user`."""
        return next(iter(self.user_turns(request)), None)

    def ends_with_user(self, request: Json) -> bool:
        """Whether the last turn is a user's and has more than results."""
        turns = self.turns(request)
        return bool(turns) and turns[-1].get("role") == "user" and has_more(turns[-1], "content")

    def user_turns(self, request: Json) -> list[Json]:
        """The turns of role `user`, oldest first."""
        return [turn for turn in self.turns(request) if turn.get("role") == "user"]
