"""Gemini `generateContent`, in the spelling of its REST API or with underscores."""

from collections.abc import Sequence
from typing import Any

from toolscout.discovery.providers.fields import Json, mapping, mappings, names_once
from toolscout.discovery.providers.gemini.parts import called, contents, text_of, without_calls
from toolscout.discovery.providers.gemini.stream import GeminiStream
from toolscout.discovery.providers.provider import (
    Called,
    OpenStream,
    Provider,
    ProviderName,
    SearchResult,
)

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
