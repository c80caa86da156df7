"""Read files with lists of tools."""

import re
from pathlib import Path

import msgspec

from toolscout.contract import Tool
from toolscout.errors import NOT_JSON, InvalidJson, InvalidRequest
from toolscout.tools.conversion import list_in, read_tools

_BYTE = re.compile(r"\(byte (\d+)\)")


def read_file(path: Path) -> list[Tool]:
    """Read a file: a JSON array of tools, an MCP `tools/list` answer, or a search request.

    Raises:
        InvalidJson: the file is not JSON; the message has line and column.
        InvalidRequest: it has no tools, or one without a name.
        OSError: it cannot be read.
    """
    try:
        data = path.read_bytes()
        content = msgspec.json.decode(data)
    except NOT_JSON as error:
        raise InvalidJson(f"{path}{_place(data, error)}: not valid JSON: {error}") from None
    content = list_in(content)
    if not isinstance(content, list):
        raise InvalidRequest(f"{path}: expected a list of tools, or an object with `tools`")
    for number, entry in enumerate(content):
        if not isinstance(entry, dict):
            raise InvalidRequest(f"{path}: tools[{number}] must be an object")
    try:
        return read_tools(content)
    except InvalidRequest as error:
        raise InvalidRequest(f"{path}: {error.detail}", error.errors) from None


def _place(data: bytes, error: Exception) -> str:
    """Return where bytes stop being JSON, as `:LINE:COLUMN` from 1; empty if unknown."""
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
