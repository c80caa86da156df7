"""The operations of an OpenAPI document as tools: what an agent that calls an API would be given.

    read_operations(document)   → [{"name": "listPets", "description": "…", "definition": {…}}, …]

OpenAPI 3 and Swagger 2.0 are read alike. A tool has the parameters of its operation and the fields
of its JSON body as properties, in JSON Schema 2020-12, with all references written out and all
tools together within `MAX_BYTES`. What was shortened, and what leads nowhere, the log says once.
"""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toolscout.common.counted import list_first_names, write_count
from toolscout.files.inputs import Bodies, Inputs, read_inputs
from toolscout.files.naming import name_operations
from toolscout.files.references import DocumentValue, LoadFile, References
from toolscout.files.shortening import CUT, Fitted, Shortener, count_bytes
from toolscout.tools.risk import judge_risk

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
READING = frozenset(("get", "head", "options", "trace", "query"))

VERBS = {"get": "get", "post": "create", "put": "set", "patch": "update", "delete": "delete"}
"""What methods do, in the words of requests."""

MAX_BYTES = 12 << 20
"""Bytes of all tools of a document: as many as a request to the service may have, and its rest."""

MAX_TOOL_BYTES = 32 << 10
"""Bytes of one tool: some 8,000 tokens of a prompt."""

FRAME_BYTES = 200
"""About what a tool has beside name, description and properties."""

MAX_NAMED = 3
"""Tools with shortened schemas, and lost references, that the log names."""

_HEADINGS = re.compile(r"\A(?:#[^\n]*\n\s*)+")
"""Headings with which a description begins: "### Description" says nothing."""

_log = logging.getLogger("toolscout")


class PathMethod(NamedTuple):
    """A method of a path."""

    path: str
    method: str
    place: DocumentValue
    """Its description in the document."""
    shared: DocumentValue
    """The path, whose parameters it has as well."""


def is_openapi(content: Any) -> bool:
    """Whether a decoded file is an OpenAPI document of version 3, or of 2, which is Swagger."""
    if not isinstance(content, Mapping) or not isinstance(content.get("paths"), Mapping):
        return False
    version = str(content.get("openapi", content.get("swagger", "")))
    return version.partition(".")[0] == ("3" if "openapi" in content else "2")


def read_operations(
    document: Mapping[str, Any], load: LoadFile | None = None, file: Path | None = None
) -> list[dict[str, Any]]:
    """Return a tool for each operation, in the order of the document.

    Args:
        document: as it was decoded.
        load: decodes the other files that the document refers to.
        file: where it was read, in whose folder those are.
    """
    references = References(load or _load_nothing, file)
    root = DocumentValue(document, document, file and file.resolve())
    operations = list(_list_operations(references, root))
    names = name_operations(
        (_read_id(one.place.value), f"{one.method} {one.path}") for one in operations
    )
    bodies: Bodies = {}
    inputs = [read_inputs(references, one.place, one.shared, bodies) for one in operations]
    texts = _cut_texts([_write_description(one) for one in operations])
    shortener = Shortener(references, MAX_TOOL_BYTES)
    frames = [
        FRAME_BYTES + 2 * len(name) + _count_twice(text)
        for name, text in zip(names, texts, strict=True)
    ]
    fitted = _fit_all(shortener, inputs, MAX_BYTES - sum(frames))
    missing = [*shortener.missing, *(name for one in inputs for name in one.missing)]
    _report(references, missing, names, fitted)
    schemas = [
        _write_schema(properties, needed.required)
        for needed, properties in zip(inputs, fitted, strict=True)
    ]
    made = zip(operations, names, texts, schemas, strict=True)
    return [_make_tool(one.method, name, text, schema) for one, name, text, schema in made]


def _make_tool(method: str, name: str, text: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the tool of an operation: it is found by its first line and its method's verb.

    The lines behind the first one tell of licences, scopes and versions, alike in many operations;
    a model is shown them, but nobody asks in their words.
    """
    definition = {"name": name, "description": text, "input_schema": schema}
    tool = {"name": name, "description": text.partition("\n")[0], "definition": definition}
    verbs = {"keywords": [VERBS[method]]} if method in VERBS else {}
    return tool | verbs | _judge_method(method, name, text)


def _list_operations(references: References, root: DocumentValue) -> Iterator[PathMethod]:
    for path, item in root.value["paths"].items():
        if str(path).startswith("x-"):
            continue
        shared = references.resolve(root.below(item))
        more = shared.value.get("additionalOperations")
        every = {**shared.value, **(more if isinstance(more, Mapping) else {})}
        methods = [*METHODS, *(more if isinstance(more, Mapping) else ())]
        for method in dict.fromkeys(map(str, methods)):
            if isinstance(every.get(method), Mapping):
                yield PathMethod(str(path), method.lower(), shared.below(every[method]), shared)


def _write_description(operation: PathMethod) -> str:
    parts = [operation.place.value.get(key) for key in ("summary", "description")]
    texts = dict.fromkeys(text.strip() for text in parts if isinstance(text, str) and text.strip())
    text = "\n\n".join(texts) or f"{operation.method.upper()} {operation.path}"
    if operation.place.value.get("deprecated") is True:
        # A word more in the line by which it is found puts it behind its successor.
        head, *rest = text.split("\n", 1)
        text = "\n".join([f"{head} (deprecated)", *rest])
    return _HEADINGS.sub("", text) or text


def _cut_texts(texts: Sequence[str]) -> list[str]:
    """Return descriptions that have half of all bytes together, the longest cut alike."""
    level = min(find_level([*map(_count_twice, texts)], MAX_BYTES // 2), MAX_TOOL_BYTES)
    return [text if _count_twice(text) <= level else _cut_text(text, level // 2) for text in texts]


def _cut_text(text: str, nbytes: int) -> str:
    return text.encode()[: max(0, nbytes - len(CUT.encode()))].decode("utf-8", "ignore") + CUT


def _count_twice(text: str) -> int:
    """Return the bytes of a description, whose first line a tool has twice."""
    return count_bytes(text) + count_bytes(text.partition("\n")[0])


def _read_id(operation: Mapping[str, Any]) -> str:
    written = operation.get("operationId")
    return written if isinstance(written, str) else ""


def _judge_method(method: str, name: str, description: str) -> dict[str, Any]:
    """Return what the method says of the risk: it may only raise it.

    A GET reads if its words say so, too; others are judged by their words.
    """
    if method == "delete":
        return {"annotations": {"destructiveHint": True}}
    if method not in READING:
        return {"annotations": {"readOnlyHint": False}}
    by_words = judge_risk(name, description, None, is_elsewhere=True)
    return {"annotations": {"readOnlyHint": True}} if by_words == "read_only" else {}


def _write_schema(fitted: Fitted, required: Iterable[str]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    if fitted.left_out:
        schema["description"] = f"{CUT} {write_count(fitted.left_out, 'field')} left out"
    named = [name for name in required if name in fitted.properties]
    return schema | {"properties": fitted.properties, "required": named}


def _fit_all(shortener: Shortener, inputs: Sequence[Inputs], room: int) -> list[Fitted]:
    """Write all schemas; where they are too long together, the longest are shortened alike."""
    fitted = [shortener.fit(one.fields, one.body, one.required) for one in inputs]
    sizes = [one.nbytes for one in fitted]
    level = find_level(sizes, room)
    if level >= shortener.most_bytes:
        return fitted
    shortener.most_bytes = level
    return [
        one if one.nbytes <= level else shortener.fit(given.fields, given.body, given.required)
        for one, given in zip(fitted, inputs, strict=True)
    ]


def find_level(sizes: Sequence[int], room: int) -> int:
    """Return the size down to which the largest are cut, so that all fit into the room."""
    left = max(0, room)
    for place, size in enumerate(ordered := sorted(sizes)):
        share = left // (len(ordered) - place)
        if size > share:
            return share
        left -= size
    return max(sizes, default=0) + left


def _report(
    references: References, missing: Sequence[str], names: Sequence[str], fitted: Sequence[Fitted]
) -> None:
    """Say once what was shortened, what is required and is not there, and which references fail."""
    shorter = [name for name, one in zip(names, fitted, strict=True) if one.is_cut]
    if shorter:
        count = f"{len(shorter):,} of {write_count(len(names), 'schema')}"
        some = list_first_names(shorter, MAX_NAMED)
        _log.warning("shortened %s, where %s stands: %s", count, CUT, some)
    if missing:
        some = list_first_names(list(dict.fromkeys(missing)), MAX_NAMED)
        _log.warning("required, but described nowhere, so taken as they come: %s", some)
    if lost := sorted(references.lost):
        _log.warning("references that lead nowhere: %s", list_first_names(lost, MAX_NAMED))


def _load_nothing(_: Path) -> Any:
    return None
