"""Gemini `generateContent` and its stream; requests may be spelled with underscores too."""

from collections.abc import Sequence
from typing import Any

from toolscout.tools.shapes import unfold_declared
from toolscout.turns.providers.calls import UNNAMED, Call, Remover
from toolscout.turns.providers.fields import Json, mapping, mappings, names_once
from toolscout.turns.providers.provider import Choice, Provider, ProviderName, SearchResult
from toolscout.turns.providers.stream import Stream, StreamEvent, write

_SIGNATURE = "thoughtSignature"
_USAGE = "usageMetadata"

UNSIGNED = "skip_thought_signature_validator"
"""What Google documents for calls that another than the model has made: Gemini 3 refuses those
without a signature.
"""


class GeminiStream(Stream):
    """Removes the parts that are searches; every event is a whole response with new parts.

    After a search the end of the turn and its usage are held back, because more may follow.
    """

    id_key = "responseId"
    usage_key = _USAGE

    def next_turn(self) -> None:
        """Reset, except for the id and the usage."""
        super().next_turn()
        self._content: Json = {}
        self._parts: list[Json] = []
        self._remover = Remover(self._search_name, _SIGNATURE)

    def response(self) -> Json:
        """Return the candidate with all of its parts as they came."""
        return {"candidates": [{"content": {**self._content, "parts": self._parts}}]}

    def fail(self, status: int, error: Json) -> bytes:
        """Return an event with the `error`, which has its status as `code`."""
        return write({"error": {"code": status, **error}})

    def _end(self, event: StreamEvent) -> bytes:
        """Return the end of a turn that searched."""
        return self._replace_data(event, self._join_turns(event.data or {}))

    def _handle(self, event: StreamEvent) -> bytes:
        data = event.data
        if data is None:
            return event.raw
        if "error" in data:
            # Nothing is searched for a turn that broke off.
            self._parts = []
            self._held = []
            self._remover = Remover(self._search_name, _SIGNATURE)
        self._usage = mapping(data.get(_USAGE)) or self._usage
        candidates = mappings(data.get("candidates"))
        kept = list(map(self._without_searches, candidates))
        if not self._remover.removed:
            seen = {**data, "candidates": kept} if kept != candidates else data
            return self._replace_data(event, self._join_turns(seen))
        before = (self._held[0].data or {}) if self._held else {}
        ends = [{**c, "content": {**mapping(c.get("content")), "parts": []}} for c in kept]
        ends = ends or mappings(before.get("candidates"))
        self._held = [StreamEvent(b"", {**before, **data, "candidates": ends})]
        going = [
            {key: value for key, value in candidate.items() if key != "finishReason"}
            for candidate in kept
            if mapping(candidate.get("content")).get("parts")
        ]
        rest = {key: value for key, value in data.items() if key != _USAGE}
        return write(self._join_turns({**rest, "candidates": going})) if going else b""

    def _without_searches(self, candidate: Json) -> Json:
        """Record what a candidate says, and return what the client sees of it."""
        content = mapping(candidate.get("content"))
        parts = mappings(content.get("parts"))
        self._content |= content
        self._parts += parts
        kept = self._remover.kept(self._undo_dispatch(parts))
        return candidate if kept == parts else {**candidate, "content": {**content, "parts": kept}}


class Gemini(Provider):
    """One tool holds many function declarations; each declaration counts as a tool here."""

    name: ProviderName = "gemini"
    usage_key = _USAGE
    stream: type[Stream] | None = GeminiStream
    history_key = "contents"
    parts_key = "parts"
    text_type = ""
    default_role: str | None = "user"
    response_path = ("candidates", "content", "parts")
    signed = (_SIGNATURE,)
    loading_id = f"{UNNAMED}0"

    def choices(self, request: Json) -> int:
        """Return the number of candidates."""
        config = mapping(request.get("generationConfig") or request.get("generation_config"))
        number = config.get("candidateCount") or config.get("candidate_count")
        return number if isinstance(number, int) else 1

    def tools(self, request: Json) -> list[Any]:
        """All declarations, and the tools that declare none (a search, code execution)."""
        tools: list[Any] = []
        for tool in request.get("tools") or []:
            functions, rest = unfold_declared(mapping(tool))
            tools += functions
            if rest or not functions:
                tools.append(rest or tool)
        return tools

    def with_tools(self, request: Json, tools: Sequence[Any]) -> Json:
        """All declarations in one tool, the others after it."""
        declared = [tool for tool in tools if "name" in mapping(tool)]
        grouped: list[Any] = [{"functionDeclarations": declared}] if declared else []
        grouped += [tool for tool in tools if "name" not in mapping(tool)]
        return super().with_tools(request, grouped)

    def history(self, request: Json) -> list[Any]:
        """Return `contents`; one that is no list is the only one."""
        contents = request.get("contents")
        return [contents] if isinstance(contents, dict) else super().history(request)

    def has_to_pass(self, request: Json) -> bool:
        """Return whether calls are to come in pieces, which nothing here joins."""
        settings = _calling(request)
        keys = "streamFunctionCallArguments", "stream_function_call_arguments"
        return any(settings.get(key) for key in keys)

    def choice(self, request: Json) -> Choice:
        """Return what the configuration of function calling says."""
        settings = _calling(request)
        listed = settings.get("allowedFunctionNames") or settings.get("allowed_function_names")
        names = names_once(listed) if isinstance(listed, list) else []
        return Choice(str(settings.get("mode")).upper() == "ANY", names)

    def forbid_calls(self, request: Json) -> Json:
        """Return the request with the mode `NONE` of function calling."""
        key = "tool_config" if "tool_config" in request else "toolConfig"
        inner = "function_calling_config" if key == "tool_config" else "functionCallingConfig"
        return {**request, key: {**mapping(request.get(key)), inner: {"mode": "NONE"}}}

    def function(self, name: str, description: str, schema: Json) -> Any:
        """Return a function declaration; its types are spelled in capitals."""
        return {"name": name, "description": description, "parameters": _capitals(schema)}

    def make_search(self, call: Call) -> Json:
        """Return a content of one call, with the signature of one that the model did not make."""
        part = {"functionCall": {"name": call.name, "args": dict(call.arguments)}}
        content = {"role": "model", "parts": [{**part, _SIGNATURE: UNSIGNED}]}
        return {"candidates": [{"content": content}]}

    def results(self, results: Sequence[SearchResult]) -> list[Json]:
        """Return a content with the responses of functions."""
        return [{"role": "user", "parts": super().results(results)}]

    def result(self, answered: SearchResult) -> Json:
        """Return the response of a function, with an id where the model gives its calls some."""
        call = answered.call
        named = {"id": call.id} if call.has_own_id else {}
        return {
            "functionResponse": {"name": call.name, "response": {"result": answered.text}, **named}
        }

    def make_turn(self, request: Json, response: Json, parts: list[Json]) -> list[Json]:
        """Return the content: thought signatures must come back unchanged."""
        return [{**self.turn_of(response), "parts": parts}]


def _calling(request: Json) -> Json:
    """Return the configuration of function calling."""
    config = mapping(request.get("toolConfig") or request.get("tool_config"))
    return mapping(config.get("functionCallingConfig") or config.get("function_calling_config"))


def _capitals(schema: Json) -> Json:
    changed = dict(schema)
    if isinstance(schema.get("type"), str):
        changed["type"] = schema["type"].upper()
    if isinstance(schema.get("properties"), dict):
        changed["properties"] = {k: _capitals(sub) for k, sub in schema["properties"].items()}
    if isinstance(schema.get("items"), dict):
        changed["items"] = _capitals(schema["items"])
    return changed
