"""Read files with lists of tools."""

import codecs
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from toolscout.contract.tools import Tool
from toolscout.errors import NOT_JSON, ConfigurationError, InvalidJson, InvalidRequest
from toolscout.tool_files.operations import is_openapi, tools_of
from toolscout.tools.conversion import list_in, read_usable

STDIN = Path("-")
YAML = (".yaml", ".yml")

OF_SERVERS = {"mcpServers", "servers"}
"""Keys of files that name MCP servers."""

LISTED_BY = "these are listed by toolscout mcp --config"

_BYTE = re.compile(r"\(byte (\d+)\)")


def read_file(path: Path) -> list[Tool]:
    """Read a file: a list of tools, an MCP `tools/list` answer, a search request, or OpenAPI 3.

    It is JSON, or YAML by its name. The path `-` reads standard input. What is no tool is skipped,
    with a warning in the log.

    Raises:
        ConfigurationError: it is YAML, and nothing here reads that.
        InvalidJson: the file is neither; the message has line and column.
        InvalidRequest: it has no tools, or a wrong field that only callers add.
        OSError: it cannot be read.
    """
    data = sys.stdin.buffer.read() if path == STDIN else path.read_bytes()
    data = data.removeprefix(codecs.BOM_UTF8)
    shown = "standard input" if path == STDIN else path
    try:
        text = data.decode("utf-8")
        is_yaml = path.suffix.lower() in YAML
        content = _from_yaml(text, shown) if is_yaml else msgspec.json.decode(text)
    except UnicodeDecodeError as error:
        wrong = f"not UTF-8: byte 0x{data[error.start]:02x}"
        raise InvalidJson(f"{shown}{_position(data, error.start)}: {wrong}") from None
    except NOT_JSON as error:
        raise InvalidJson(f"{shown}{_place(data, error)}: not valid JSON: {error}") from None
    content = tools_of(content) if is_openapi(content) else list_in(content)
    if isinstance(content, dict) and content.keys() & OF_SERVERS:
        raise InvalidRequest(f"{shown}: names servers, not tools; {LISTED_BY} {shown} --check")
    if not isinstance(content, list):
        expected = "a list of tools, an object with `tools`, or an OpenAPI 3 document"
        raise InvalidRequest(f"{shown}: expected {expected}")
    try:
        tools = read_usable(content).tools
    except InvalidRequest as error:
        raise InvalidRequest(f"{shown}: {error.detail}", error.errors) from None
    if not tools:
        raise InvalidRequest(f"{shown}: there are no tools in it")
    return tools


def operations_of(path: Path) -> list[dict[str, Any]] | None:
    """Return the tools of an OpenAPI document; None for any other file.

    Of a file with a tool in each line, the first line alone is read.

    Raises:
        ConfigurationError: it is YAML of something else, or nothing here reads YAML.
        InvalidJson: it is YAML that cannot be read.
        OSError: it cannot be read.
    """
    if path.suffix.lower() in YAML:
        content = _from_yaml(path.read_text("utf-8", "replace"), path)
        if not is_openapi(content):
            raise ConfigurationError(f"{path}: expected an OpenAPI 3 document, where it is YAML")
        return tools_of(content)
    with path.open("rb") as file:
        first = file.readline().removeprefix(codecs.BOM_UTF8)
        if not first.lstrip().startswith(b"{"):
            return None
        for text in (first, first + file.read()):
            with suppress(*NOT_JSON):
                content = msgspec.json.decode(text)
                return tools_of(content) if is_openapi(content) else None
    return None


def _from_yaml(text: str, shown: object) -> Any:
    try:
        import yaml
    except ImportError:
        raise ConfigurationError("reading YAML needs: pip install 'toolscout[server]'") from None
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        return yaml.load(text, loader)  # noqa: S506  # both make plain values alone
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or error
        raise InvalidJson(f"{shown}{place}: not valid YAML: {problem}") from None


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
