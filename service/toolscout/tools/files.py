"""Tools as people have them: any provider's dicts, and files that hold lists of them."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from toolscout.contract import Tool
from toolscout.errors import NOT_JSON, FieldError, InvalidJson, InvalidRequest

_BYTE = re.compile(r"\(byte (\d+)\)")
_encode = msgspec.json.encode
_LISTS = ("tools", "toolConfig", "result", "functionDeclarations", "function_declarations")
_WIRE_FIELDS = frozenset(Tool.__struct_fields__)


def read_tools(values: Iterable[Any]) -> list[Tool]:
    """Convert dicts of any provider's shape; one Gemini entry may hold several functions.

    Raises:
        InvalidRequest: an entry is no object or has no name; says which.
    """
    tools: list[Tool] = []
    for number, value in enumerate(values):
        tools.extend(_read(entry, f"tools[{number}]") for entry in _declared(value))
    return tools


def read_file(path: Path) -> list[Tool]:
    """Read a file: a JSON array of tools, an MCP `tools/list` answer, or a search request.

    Raises:
        InvalidJson: the file is not JSON; says where.
        InvalidRequest: it holds no tools, or one without a name.
        OSError: it cannot be read.
    """
    try:
        data = path.read_bytes()
        content = msgspec.json.decode(data)
    except NOT_JSON as error:
        raise InvalidJson(f"{path}{_place(data, error)}: not valid JSON: {error}") from None
    for _ in range(3):  # result.tools of a JSON-RPC answer is the deepest list
        if not isinstance(content, dict):
            break
        inner = next((content[key] for key in _LISTS if key in content), None)
        if inner is None:
            break
        content = inner
    if not isinstance(content, list):
        raise InvalidRequest(f"{path}: expected a list of tools, or an object with `tools`")
    try:
        return read_tools(content)
    except InvalidRequest as error:
        raise InvalidRequest(f"{path}: {error.detail}", error.errors) from None


def _place(data: bytes, error: Exception) -> str:
    """Where bytes stop being JSON, as `:LINE:COLUMN` from 1; nothing where that is not known."""
    if isinstance(error, UnicodeDecodeError):
        end = error.start
    elif found := _BYTE.search(str(error)):
        end = int(found[1]) - ("trailing characters" in str(error))  # names the byte after
    elif isinstance(error, RecursionError):
        return ""
    else:  # cut short
        end = len(data)
    before = data[:end].decode("utf-8", "replace").split("\n")
    return f":{len(before)}:{len(before[-1]) + 1}"


def _declared(value: Any) -> list[Any]:
    """Gemini nests several functions in one tool; everyone else sends one per entry."""
    if isinstance(value, Mapping) and "name" not in value:
        for key in ("functionDeclarations", "function_declarations"):
            if isinstance(value.get(key), list):
                return list(value[key])
    return [value]


def _read(entry: Any, path: str) -> Tool:
    if not isinstance(entry, Mapping):
        raise InvalidRequest(f"{path} must be an object", (FieldError(path, "expected an object"),))
    inner = next(
        (entry[k] for k in ("function", "toolSpec") if isinstance(entry.get(k), dict)), entry
    )
    name = entry.get("name") or inner.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidRequest(
            f"{path}.name is missing", (FieldError(f"{path}.name", "a tool needs a name"),)
        )
    fields = {key: value for key, value in entry.items() if key in _WIRE_FIELDS}
    fields["name"] = name
    if not isinstance(fields.get("description"), str):
        fields["description"] = inner.get("description")
    fields.setdefault("definition", entry)
    try:
        return msgspec.json.decode(_encode(fields), type=Tool)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"{path}: {error}", (FieldError(path, str(error)),)) from None
