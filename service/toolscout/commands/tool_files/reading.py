"""Read files with lists of tools."""

import codecs
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from toolscout.commands.tool_files.operations import is_openapi, read_operations
from toolscout.common.json_errors import find_end, locate
from toolscout.common.optional import write_install_command
from toolscout.contract.tools import Tool
from toolscout.errors import NOT_JSON, ConfigurationError, InvalidJson, InvalidRequest
from toolscout.tools.conversion import list_in, read_usable

STDIN = Path("-")
YAML = (".yaml", ".yml")

SAMPLE = Path(__file__).parents[2] / "playground" / "static" / "platform.json"
"""The first tools of the playground, which are searched where no file is given."""

OF_SERVERS = {"mcpServers", "servers", "context_servers", "amp.mcpServers"}
"""Keys of files that name MCP servers."""

_ADDRESS = re.compile(r"(https?):/+(.+)")
"""A web address whose `//` a path has merged into one slash."""


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
    with _open_file(path) as file:
        listed = _list_tools(file.read(), path)
    try:
        tools = read_usable(listed).tools
    except InvalidRequest as error:
        raise InvalidRequest(f"{_show_name(path)}: {error.detail}", error.errors) from None
    if not tools:
        raise InvalidRequest(f"{_show_name(path)}: there are no tools in it")
    return tools


def read_entries(path: Path) -> list[Any] | Iterator[Any]:
    """Return the tools of a file as they are written there: a list, or one after another.

    The latter of a file with a tool in each line, which may have any number of them. A file is read
    once, so it may be a pipe.

    Raises:
        ConfigurationError: as `read_file`; while they are read, that a line is no JSON.
        InvalidJson, InvalidRequest, OSError: as `read_file`.
    """
    with ExitStack() as stack:
        file = stack.enter_context(_open_file(path))
        first: list[bytes] = []
        objects = 0
        while objects < 2 and (line := file.readline()):
            first.append(line.removeprefix(codecs.BOM_UTF8))
            if line.strip():
                if not _is_object(first[-1]):
                    return _list_tools(b"".join(first) + file.read(), path)
                objects += 1
        if objects < 2:
            return _list_tools(b"".join(first), path)
        return _read_each(chain(first, file), path, stack.pop_all())


def _read_each(lines: Iterable[bytes], path: Path, file: ExitStack) -> Iterator[Any]:
    with file:
        for number, line in enumerate(lines, 1):
            try:
                if line.strip():
                    yield msgspec.json.decode(line)
            except NOT_JSON as error:
                where = f"{_show_name(path)}, line {number}"
                raise ConfigurationError(f"{where}: not JSON: {error}") from None


def _is_object(line: bytes) -> bool:
    with suppress(*NOT_JSON):
        return isinstance(msgspec.json.decode(line), dict)
    return False


def _open_file(path: Path) -> BinaryIO:
    if path == STDIN:
        return sys.stdin.buffer
    if address := _ADDRESS.match(str(path)):
        raise ConfigurationError(
            f"--tools takes a file: curl -o tools.json {'://'.join(address.groups())}"
        )
    return path.open("rb")


def _show_name(path: Path) -> str:
    return "standard input" if path == STDIN else str(path)


def _list_tools(data: bytes, path: Path) -> list[Any]:
    """Return the tools of a file as they are written, or as an OpenAPI document means them."""
    data = data.removeprefix(codecs.BOM_UTF8)
    shown = _show_name(path)
    try:
        text = data.decode("utf-8")
        is_yaml = path.suffix.lower() in YAML
        content = _read_yaml(text, shown) if is_yaml else msgspec.json.decode(text)
    except UnicodeDecodeError as error:
        wrong = f"not UTF-8: byte 0x{data[error.start]:02x}"
        raise InvalidJson(f"{shown}{_place(data, error)}: {wrong}") from None
    except NOT_JSON as error:
        wrong = f"not valid JSON: {error}{_explain_lines(data, path)}"
        raise InvalidJson(f"{shown}{_place(data, error)}: {wrong}") from None
    listed: Any = read_operations(content) if is_openapi(content) else list_in(content)
    if isinstance(listed, dict) and listed.keys() & OF_SERVERS:
        file = "mcp.json" if path == STDIN else shlex.quote(shown)
        lists = f"toolscout mcp --config {file} --list > tools.json"
        registers = f"toolscout import --mcp {file} --catalog mine"
        raise InvalidRequest(
            f"{shown}: names servers, not tools; {lists} writes theirs, {registers} registers them"
        )
    if not isinstance(listed, list):
        expected = "a list of tools, an object with `tools`, or an OpenAPI 3 document"
        raise InvalidRequest(f"{shown}: expected {expected}{_explain_content(content)}")
    return listed


def _explain_lines(data: bytes, path: Path) -> str:
    """Return the end of a message about a file that is a table, or has a tool in each line."""
    if path.suffix.lower() == ".csv":
        return "; a table holds no schemas, so tools are written as JSON"
    if _is_object(data.partition(b"\n")[0]):
        return "; if there is a tool in each line: jq -s . makes a list of them"
    return ""


def _explain_content(content: Any) -> str:
    """Return the end of a message about JSON that has tools in a form that is not read."""
    if not isinstance(content, dict):
        return ""
    if "swagger" in content:
        return "; this is Swagger 2: convert it first, such as by npx swagger2openapi"
    if content and all(isinstance(one, dict) for one in content.values()):
        return "; if these are tools by name: make a list of them, each with its name in it"
    return ""


def _read_yaml(text: str, shown: object) -> Any:
    try:
        import yaml
    except ImportError:
        raise ConfigurationError(f"reading YAML needs: {write_install_command('server')}") from None
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
    end = find_end(data, error)
    return "" if end is None else ":{}:{}".format(*locate(data, end))
