"""The events of Gemini, `streamGenerateContent?alt=sse`."""

from typing import Any

from toolscout.discovery.providers import sse
from toolscout.discovery.providers.fields import Json, mapping, mappings
from toolscout.discovery.providers.gemini.parts import Remover, parts_of
from toolscout.discovery.providers.sse import Event
from toolscout.discovery.providers.stream import Stream
from toolscout.discovery.providers.usage import add

_USAGES = ("usageMetadata", "usage_metadata")
_IDS = ("responseId", "response_id")
_ENDS = ("finishReason", "finish_reason")


class GeminiStream(Stream):
    """Removes the parts that are searches; every event is a whole response with new parts.

    After a search the end of the turn and its usage are held back, because more may follow.
    """

    def __init__(self, search_name: str, dispatch_name: str = "") -> None:
        self._ids: Json = {}
        super().__init__(search_name, dispatch_name)

    def next_turn(self) -> None:
        """Reset, except for the id and the usage."""
        super().next_turn()
        self._content: Json = {}
        self._parts: list[Json] = []
        self._removers: dict[Any, Remover] = {}
        self._ends: dict[Any, Json] = {}

    def response(self) -> Json:
        """Return the first candidate with all of its parts as they came."""
        return {"candidates": [{"content": {**self._content, "parts": self._parts}}]}

    def fail(self, status: int, error: Json) -> bytes:
        """Return an event with the `error`, which has its status as `code`."""
        return sse.write({"error": {"code": status, **error}})

    def _end(self, event: Event) -> bytes:
        """Return the end of a turn that searched."""
        whole = {**(event.data or {}), "candidates": list(self._ends.values())}
        return self._with_data(event, self._as_one(whole))

    def _handle(self, event: Event) -> bytes:
        data = event.data
        if data is None:
            return event.raw
        if "error" in data:
            # Nothing is searched for a turn that broke off.
            self._parts, self._held, self._removers = [], [], {}
        for key in _USAGES:
            self._usage = mapping(data.get(key)) or self._usage
        candidates = mappings(data.get("candidates"))
        self._collect(candidates)
        kept = list(map(self._without_searches, candidates))
        if not any(remover.removed for remover in self._removers.values()):
            seen = {**data, "candidates": kept} if kept != candidates else data
            return self._with_data(event, self._as_one(seen))
        before = self._held[0].data if self._held else None
        self._held = [Event(b"", {**(before or {}), **data})]
        for candidate in kept:
            content = {**mapping(candidate.get("content")), "parts": []}
            self._ends[candidate.get("index")] = {**candidate, "content": content}
        going = [_without_end(c) for c in kept if parts_of(mapping(c.get("content")))]
        if not going:
            return b""
        rest = {key: value for key, value in data.items() if key not in _USAGES}
        return sse.write(self._as_one({**rest, "candidates": going}))

    def _collect(self, candidates: list[Json]) -> None:
        """Record what the first candidate says, for the model."""
        for candidate in candidates:
            if not candidate.get("index"):
                content = mapping(candidate.get("content"))
                self._content |= content
                self._parts += parts_of(content)

    def _without_searches(self, candidate: Json) -> Json:
        index = candidate.get("index")
        remover = self._removers.setdefault(index, Remover(self._search_name))
        content = mapping(candidate.get("content"))
        parts = parts_of(content)
        kept = self._dispatched(remover.kept(parts))
        return candidate if kept == parts else {**candidate, "content": {**content, "parts": kept}}

    def _as_one(self, data: Json) -> Json:
        """Give an event the first one's id and the usage of all forwards."""
        changed = dict(data)
        for key in _IDS:
            if key in data:
                changed[key] = self._ids.setdefault(key, data[key])
        for key in _USAGES:
            if key in data and self._spent is not None:
                changed[key] = add(self._spent, data[key])
        return changed


def _without_end(candidate: Json) -> Json:
    return {key: value for key, value in candidate.items() if key not in _ENDS}
