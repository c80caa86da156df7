"""Gemini `generateContent` and its stream, in the spelling of its REST API or with underscores."""

from collections.abc import Sequence
from typing import Any

from toolscout.discovery.providers import sse
from toolscout.discovery.providers.fields import Json, mapping, mappings, names_once
from toolscout.discovery.providers.provider import (
    Called,
    OpenStream,
    Provider,
    ProviderName,
    SearchResult,
)
from toolscout.discovery.providers.sse import Event
from toolscout.discovery.providers.stream import Stream
from toolscout.discovery.providers.usage import add

_SIGNATURES = ("thoughtSignature", "thought_signature")


def contents(request: Json) -> list[Json]:
    """Return the conversation of a request; a single content is one."""
    given = request.get("contents")
    return [given] if isinstance(given, dict) else mappings(given)


def parts_of(content: Json) -> list[Json]:
    """Return the parts of a content."""
    return mappings(content.get("parts"))


def called(part: Json) -> Json:
    """Return the call of a part; empty if it has none."""
    return mapping(part.get("functionCall") or part.get("function_call"))


def text_of(content: Json) -> str:
    """Return the texts of a content."""
    texts = (part.get("text") for part in parts_of(content))
    return "\n".join(text for text in texts if isinstance(text, str))


class Remover:
    """Removes the calls of one tool from the parts of one candidate.

    Of parallel calls only the first has a thought signature, without which Gemini 3 refuses the
    conversation; that of a removed call moves to the next call that has none.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._signature: Json = {}
        self.removed = False

    def kept(self, parts: list[Json]) -> list[Json]:
        """Return the parts that are left of the next ones."""
        left = []
        for part in parts:
            if called(part).get("name") == self._name:
                self.removed = True
                self._signature = self._signature or _signature(part)
            elif called(part) and self._signature:
                left.append(part if _signature(part) else {**part, **self._signature})
                self._signature = {}
            else:
                left.append(part)
        return left


def without_calls(candidate: Json, name: str) -> Json:
    """Remove the calls of one tool from a candidate; it returns itself if it has none."""
    content = mapping(candidate.get("content"))
    remover = Remover(name)
    kept = remover.kept(parts_of(content))
    return {**candidate, "content": {**content, "parts": kept}} if remover.removed else candidate


def _signature(part: Json) -> dict[str, Any]:
    return {key: part[key] for key in _SIGNATURES if part.get(key)}


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


_DECLARATIONS = ("functionDeclarations", "function_declarations")


class Gemini(Provider):
    """One tool holds many function declarations; each declaration counts as a tool here."""

    name: ProviderName = "gemini"
    usage_keys: tuple[str, ...] = ("usageMetadata", "usage_metadata")
    stream: OpenStream | None = GeminiStream
    history_key = "contents"
    parts_key = "parts"
    default_role: str | None = "user"

    def tools(self, request: Json) -> list[Any]:
        """All declarations, and the tools that declare none (a search, code execution)."""
        found: list[Any] = []
        for tool in request.get("tools") or []:
            lists = {
                k: v for k, v in mapping(tool).items() if k in _DECLARATIONS and isinstance(v, list)
            }
            declared = [function for functions in lists.values() for function in functions]
            found += declared
            others = {k: v for k, v in mapping(tool).items() if k not in lists}
            if others or not declared:
                found.append(others or tool)
        return found

    def with_tools(self, request: Json, tools: Sequence[Any]) -> Json:
        """All declarations in one tool, the others after it."""
        rest = {key: value for key, value in request.items() if key != "tools"}
        declared = [tool for tool in tools if "name" in mapping(tool)]
        grouped: list[Any] = [{"functionDeclarations": declared}] if declared else []
        grouped += [tool for tool in tools if "name" not in mapping(tool)]
        return {**rest, "tools": grouped} if grouped else rest

    def history(self, request: Json) -> list[Any]:
        """`contents`; one that is no list is the only one."""
        return list(contents(request))

    def query(self, request: Json) -> str:
        """Return the last user content with text; skip those with only function responses."""
        return next(filter(None, map(text_of, reversed(self.user_turns(request)))), "")

    def may_search(self, request: Json) -> bool:
        """Whether the mode is not `NONE` and no allowed functions are listed."""
        return _mode(_calling(request)) != "NONE" and not self.listed(request)

    def listed(self, request: Json) -> list[str]:
        """Return the allowed functions, which the API wants declared."""
        calling = _calling(request)
        names = calling.get("allowedFunctionNames") or calling.get("allowed_function_names")
        return names_once(names) if isinstance(names, list) else []

    def must_call(self, request: Json) -> bool:
        """Whether the mode is `ANY`."""
        return _mode(_calling(request)) == "ANY"

    def function(self, name: str, description: str, schema: Json) -> Any:
        """Return a function declaration; its types are spelled in capitals."""
        return {"name": name, "description": description, "parameters": _capitals(schema)}

    def turn_of(self, response: Json) -> Json:
        """Return the content of the first candidate, the only one that a loop can continue."""
        candidates = mappings(response.get("candidates"))
        return mapping(candidates[0].get("content")) if candidates else {}

    def call_in(self, part: Json, place: int = 0) -> Called | None:
        """Return that of a `functionCall` part; its position replaces a missing id."""
        call = called(part)
        id_ = str(call.get("id") or f"part-{place}")
        return (id_, call.get("name"), call.get("args")) if call else None

    def continued(self, request: Json, response: Json, results: Sequence[SearchResult]) -> Json:
        """Append the content (thought signatures must come back unchanged), then the responses."""
        parts = self.answered(response, results)
        given = {called(part).get("id") for part in parts}
        answers = []
        for call, text, _ in results:
            answer: Json = {"name": call.name, "response": {"result": text}}
            if call.id in given:
                answer["id"] = call.id
            answers.append({"functionResponse": answer})
        turns = [{**self.turn_of(response), "parts": parts}, {"role": "user", "parts": answers}]
        return {**request, "contents": [*contents(request), *turns]}

    def without_calls(self, response: Json, name: str) -> Json:
        """Remove these parts from every candidate."""
        candidates = [
            without_calls(candidate, name) for candidate in mappings(response.get("candidates"))
        ]
        changed = {**response, "candidates": candidates}
        return response if candidates == mappings(response.get("candidates")) else changed


def _calling(request: Json) -> Json:
    config = mapping(request.get("toolConfig") or request.get("tool_config"))
    return mapping(config.get("functionCallingConfig") or config.get("function_calling_config"))


def _mode(calling: Json) -> str:
    mode = calling.get("mode")
    return mode.upper() if isinstance(mode, str) else ""


def _capitals(schema: Json) -> Json:
    changed = dict(schema)
    if isinstance(schema.get("type"), str):
        changed["type"] = schema["type"].upper()
    if isinstance(schema.get("properties"), dict):
        changed["properties"] = {k: _capitals(sub) for k, sub in schema["properties"].items()}
    if isinstance(schema.get("items"), dict):
        changed["items"] = _capitals(schema["items"])
    return changed
