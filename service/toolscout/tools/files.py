"""Read files with lists of tools."""

import codecs
import re
import sys
from pathlib import Path

import msgspec

from toolscout.contract.tools import Tool
from toolscout.errors import NOT_JSON, InvalidJson, InvalidRequest
from toolscout.tools.conversion import list_in, read_usable

STDIN = Path("-")

_BYTE = re.compile(r"\(byte (\d+)\)")


def read_file(path: Path) -> list[Tool]:
    """Read a file: a JSON array of tools, an MCP `tools/list` answer, or a search request.

    The path `-` reads standard input. What is no tool is skipped, with a warning in the log.

    Raises:
        InvalidJson: the file is not JSON; the message has line and column.
        InvalidRequest: it has no tools, or a wrong field that only callers add.
        OSError: it cannot be read.
    """
    data = sys.stdin.buffer.read() if path == STDIN else path.read_bytes()
    data = data.removeprefix(codecs.BOM_UTF8)
    shown = "standard input" if path == STDIN else path
    try:
        content = msgspec.json.decode(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        wrong = f"not UTF-8: byte 0x{data[error.start]:02x}"
        raise InvalidJson(f"{shown}{_position(data, error.start)}: {wrong}") from None
    except NOT_JSON as error:
        raise InvalidJson(f"{shown}{_place(data, error)}: not valid JSON: {error}") from None
    content = list_in(content)
    if not isinstance(content, list):
        raise InvalidRequest(f"{shown}: expected a list of tools, or an object with `tools`")
    try:
        tools = read_usable(content).tools
    except InvalidRequest as error:
        raise InvalidRequest(f"{shown}: {error.detail}", error.errors) from None
    if not tools:
        raise InvalidRequest(f"{shown}: there are no tools in it")
    return tools


def _place(data: bytes, error: Exception) -> str:
    """Return where bytes stop being JSON, as `:LINE:COLUMN` from 1; empty if unknown."""
    if found := _BYTE.search(str(error)):
        end = int(found[1]) - ("trailing characters" in str(error))  # names the byte after
    elif isinstance(error, RecursionError):
        return ""
    else:  # cut short
        end = len(data)
    return _position(data, end)


def _position(data: bytes, end: int) -> str:
    before = data[:end].decode("utf-8", "replace").split("\n")
    return f":{len(before)}:{len(before[-1]) + 1}"
