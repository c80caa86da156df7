"""Contents of Gemini and their parts, in the spelling of its REST API or with underscores."""

from typing import Any

from toolscout.discovery.providers.fields import Json, mapping, mappings

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
