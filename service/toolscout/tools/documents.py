"""Read the searchable text of a tool, in any provider's shape.

OpenAI (chat and Responses), Anthropic, MCP, Gemini, Bedrock and bare JSON Schema definitions
all give the same text fields. Unknown keys are ignored.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from toolscout.common.json_errors import explain_json
from toolscout.contract.fields import is_absent
from toolscout.contract.tools import Tool
from toolscout.errors import NOT_JSON, InvalidJson
from toolscout.tools import schemas
from toolscout.tools.shapes import (
    DECLARATIONS,
    INPUT_EXAMPLES,
    OUTPUT_SCHEMAS,
    SCHEMAS,
    WRAPPERS,
    text_of,
)

MAX_FIELD_CHARS = 8_192
"""Characters of one field that are indexed; more is documentation pasted into a schema."""

MAX_EXAMPLE_VALUES = 32
"""Texts in the examples of a tool's input that are indexed."""

PURPOSE_CHARS = 250
"""Characters of a description that are embedded: a mean over a long text blurs its point."""

MIN_TELLING_WORDS = 2
"""Words of a description from which further lines of its definition are not searched."""

REQUESTS_CHARS = 300
"""Characters of the requests quoted in a description that are embedded, too."""

PROPERTY_CHARS = 100
"""Characters of one property's description that are embedded."""

_SAYS_WHEN = re.compile(
    r"\b(?:use (?:it |this |the )?(?:tool )?(?:when|for|if)|when (?:the |a )?user"
    r"|users? (?:asks?|says?|wants?|needs?|requests?)|example (?:requests|queries|prompts)"
    r"|trigger(?:s|ed)? (?:by|on|phrases))",
    re.IGNORECASE,
)
_SAYS_WHEN_NOT = re.compile(r"\b(?:not for|do not|don't|never|not when|instead)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"\n|(?<=[.!?])\s+(?=[A-Z])")
_QUOTED = re.compile(r'"([^"\n]{5,160})"|“([^”\n]{5,160})”')

_BESIDE_INPUT = frozenset((*OUTPUT_SCHEMAS, *INPUT_EXAMPLES))

decode_tool = msgspec.json.Decoder(Tool).decode
"""Decode a tool from JSON, as catalogs keep it."""


class Document(msgspec.Struct, frozen=True):
    """The text fields of one tool; `aliases` are its further names."""

    name: str
    description: str
    """The searched text: description, keywords, tags, and what else a definition says of it."""
    plain_description: str
    """The whole description alone, as it is shown."""
    purpose: str
    """The beginning of the description, and the requests that it quotes, for embedding."""
    properties: str
    property_heads: str
    """Property names with the beginnings of their descriptions, for embedding."""
    aliases: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    """The parameters that a call must have."""
    annotations: dict[str, Any] | None = None
    """The hints of MCP, given beside the definition or inside it."""


def read_tool(tool: Tool) -> Document:
    """Collect the text of a tool.

    Raises:
        msgspec.DecodeError: the raw definition or parameters are not valid JSON.
        RecursionError: they are nested too deeply to decode.
    """
    description, bodies = _find_bodies(tool)
    layers = [layer for body in bodies for layer in _unwrap_layers(body)]
    names = [text_of(layer.get("name")) for layer in layers]
    hints = _find_hints(tool, layers)
    texts = [*filter(None, (text_of(layer.get("description")) for layer in layers))]
    if not description and texts:
        description = texts[0]
    # What a definition says in further lines than its caller gave is shown, not searched.
    whole = next((text for text in texts if _has_more_lines(description, text)), description)
    titles = [text_of(layer.get("title")) for layer in layers if "name" in layer]
    titles.append(text_of((hints or {}).get("title")))
    # The tool's author chose these words for searching, so they count like the description.
    labels = " ".join(
        (
            *dict.fromkeys(filter(None, titles)),
            *(tool.keywords or ()),
            *(tool.tags or ()),
            *_read_other_descriptions(description, texts),
        )
    )
    labels = labels[:MAX_FIELD_CHARS]
    searched = description[:MAX_FIELD_CHARS]
    description = f"{searched} {labels}" if labels else searched
    requests = " ".join(find_quoted_requests(searched))
    named = [pair for layer in layers for pair in schemas.walk_properties(layer)]
    pieces = [part for pair in named for part in pair if part]
    heads = [part for name, text in named for part in (name, text[:PROPERTY_CHARS]) if part]
    required: list[str] = []
    for layer in layers:
        if isinstance(layer.get("required"), list):
            required += (name for name in layer["required"] if isinstance(name, str))
        if not _BESIDE_INPUT.isdisjoint(layer):
            pieces += _read_output_and_examples(layer)
    return Document(
        name=tool.name,
        description=description,
        plain_description=whole[:MAX_FIELD_CHARS],
        purpose=f"{description[:PURPOSE_CHARS]} {requests[:REQUESTS_CHARS]}".rstrip(),
        properties=" ".join(dict.fromkeys(pieces))[:MAX_FIELD_CHARS],
        property_heads=" ".join(heads)[:MAX_FIELD_CHARS],
        aliases=tuple(dict.fromkeys(name for name in names if name not in ("", tool.name))),
        required=tuple(dict.fromkeys(required)),
        annotations=hints,
    )


def read_at(tool: Tool, place: int) -> Document:
    """Collect the text of a tool of a list; `place` is where errors say it stood.

    Raises:
        InvalidJson: its definition or parameters are not valid JSON, or nested too deeply.
    """
    try:
        return read_tool(tool)
    except NOT_JSON as error:
        is_read = is_absent(tool.definition) or _read_object(tool.definition) is not None
        where = f"tools[{place}].{'parameters' if is_read else 'definition'}"
        raise InvalidJson(f"{where} is not valid JSON", (explain_json(where, error),)) from None


def find_quoted_requests(description: str) -> list[str]:
    """Return the requests of users that a description quotes: `Use when the user says "…"`.

    Sentences about what a tool is not for quote requests for others.
    """
    has_quotes = '"' in description or "“" in description
    if not has_quotes or not _SAYS_WHEN.search(description):
        return []
    sentences = _SENTENCE_END.split(description)
    quoted = (
        straight or curly
        for sentence in sentences
        if not _SAYS_WHEN_NOT.search(sentence)
        for straight, curly in _QUOTED.findall(sentence)
    )
    return [request for request in quoted if " " in request.strip()]


def _read_other_descriptions(description: str, texts: list[str]) -> list[str]:
    """Return what the definition says of a tool beside its description."""
    others = (text for text in dict.fromkeys(texts) if not _has_more_lines(description, text))
    return [text.replace(description, " ") for text in others if text not in description]


def _has_more_lines(description: str, text: str) -> bool:
    """Whether a text has the lines of a description that tells something, and further ones."""
    return text.startswith(f"{description}\n") and len(description.split()) >= MIN_TELLING_WORDS


def _read_output_and_examples(layer: dict[str, Any]) -> Iterator[str]:
    """Yield the words of a tool's output schema, and of examples of its input."""
    for key in OUTPUT_SCHEMAS:
        if isinstance(layer.get(key), dict):
            for name, text in schemas.walk_properties(layer[key]):
                yield name
                yield text
    values: list[Any] = [layer.get(key) for key in INPUT_EXAMPLES]
    left = MAX_EXAMPLE_VALUES
    while values and left:
        value = values.pop()
        if isinstance(value, str):
            left -= 1
            yield value[:PROPERTY_CHARS]
        elif isinstance(value, dict | list):
            values += reversed(list(value.values()) if isinstance(value, dict) else value)


def _find_bodies(tool: Tool) -> tuple[str, list[Any]]:
    """Return the description, and the JSON objects to read (the description may be one)."""
    raws = (tool.definition, tool.parameters)
    bodies = [msgspec.json.decode(raw) for raw in raws if not is_absent(raw)]
    description = tool.description or ""
    described = _read_object(description) if description.lstrip()[:1] == "{" else None
    return (description, bodies) if described is None else ("", [*bodies, described])


def _find_hints(tool: Tool, layers: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the hints of MCP, from the tool or its definition."""
    hints = None if is_absent(tool.annotations) else _read_object(tool.annotations)
    within = (hint for layer in layers if isinstance(hint := layer.get("annotations"), dict))
    return next(within, None) if hints is None else hints


def hints_of(tool: Tool) -> dict[str, Any] | None:
    """Return the hints of MCP, given beside the definition or inside it; None without any.

    Raises:
        msgspec.DecodeError: the raw definition or parameters are not valid JSON.
        RecursionError: they are nested too deeply to decode.
    """
    return _find_hints(
        tool, [layer for body in _find_bodies(tool)[1] for layer in _unwrap_layers(body)]
    )


_TYPED = frozenset({"$ref", "additionalProperties", "anyOf", "oneOf"})
"""Keywords of a schema that says by them alone what it takes."""


def find_input_schema(tool: Tool) -> dict[str, Any] | None:
    """Return the JSON Schema of a tool's input, whatever shape it was sent in; None without one.

    Raises:
        msgspec.DecodeError: the raw definition or parameters are not valid JSON.
        RecursionError: they are nested too deeply to decode.
    """
    bare: dict[str, Any] | None = None
    for raw in (tool.definition, tool.parameters):
        for layer in _unwrap_layers(None if is_absent(raw) else msgspec.json.decode(raw)):
            if isinstance(layer.get("properties"), dict) or isinstance(layer.get("allOf"), list):
                return layer
            if str(layer.get("type")).lower() == "object" or not _TYPED.isdisjoint(layer):
                bare = layer
    return bare


def find_output_schema(tool: Tool) -> dict[str, Any] | None:
    """Return the JSON Schema of what a tool returns; None without one, or where it is no JSON."""
    try:
        layers = [layer for body in _find_bodies(tool)[1] for layer in _unwrap_layers(body)]
    except NOT_JSON:
        return None
    schemas = (layer.get(key) for layer in layers for key in OUTPUT_SCHEMAS)
    return next((schema for schema in schemas if isinstance(schema, dict)), None)


def _unwrap_layers(body: Any) -> Iterator[dict[str, Any]]:
    """Yield the definition, the objects it wraps, and their schemas."""
    if not isinstance(body, dict):
        return
    yield body
    for key in WRAPPERS:
        if isinstance(body.get(key), dict):
            yield from _unwrap_layers(body[key])
    for key in DECLARATIONS:
        declarations = body.get(key)
        if isinstance(declarations, list) and len(declarations) == 1:  # several are no one tool
            yield from _unwrap_layers(declarations[0])
    for key in SCHEMAS:
        schema = body.get(key)
        if isinstance(schema, dict):
            # Bedrock puts the schema one level deeper, under "json".
            yield schema["json"] if isinstance(schema.get("json"), dict) else schema


def _read_object(text: str | msgspec.Raw) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(text)
    except NOT_JSON:
        return None
    return value if isinstance(value, dict) else None


def description_of(tool: Tool) -> str:
    """Return the description, from the definition if the tool has none itself."""
    if tool.description is not None:
        return tool.description
    try:
        return read_tool(tool).plain_description
    except NOT_JSON:
        return ""
