"""Read files with lists of tools."""

import codecs
import logging
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from toolscout.common.json_errors import find_end, locate
from toolscout.contract.tools import Tool
from toolscout.errors import NOT_JSON, ConfigurationError, InvalidJson, InvalidRequest
from toolscout.files.known_forms import explain_form, is_one_tool, list_by_name
from toolscout.files.operations import is_openapi, read_operations
from toolscout.files.skills import read_skills
from toolscout.files.yaml_text import read_yaml
from toolscout.tools.conversion import list_in, read_usable

STDIN = Path("-")
YAML = (".yaml", ".yml")

SAMPLE = Path(__file__).parents[1] / "playground" / "static" / "platform.json"
"""The first tools of the playground, which are searched where no file is given."""

_OPENAPI_IN_YAML = re.compile(r"""^["']?(?:openapi|swagger)["']?[ \t]*:""", re.MULTILINE)
"""What an OpenAPI document in YAML has that comes from a pipe, or under another name."""

_ADDRESS = re.compile(r"(https?):/+(.+)")
"""A web address whose `//` a path has merged into one slash."""

_log = logging.getLogger("toolscout")


def read_file(path: Path) -> list[Tool]:
    """Read a file: a list of tools, an MCP `tools/list` answer, a search request, or OpenAPI.

    It is JSON, a tool in each line, or YAML. The path `-` reads standard input, a folder its skills
    and subagents. What is no tool is skipped, with a warning in the log.

    Raises:
        ConfigurationError: it is YAML, and nothing here reads that.
        InvalidJson: the file is neither; the message has line and column.
        InvalidRequest: it has no tools, or a wrong field that only callers add.
        OSError: it cannot be read.
    """
    listed = list(read_entries(path))
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
    once, so it may be a pipe. A folder has skills and subagents; what cannot be read there is
    logged.

    Raises:
        ConfigurationError, InvalidRequest, OSError: as `read_file`.
        InvalidJson: as `read_file`; while they are read, that a line is no JSON.
    """
    if path.is_dir():
        return _list_skills(path)
    with ExitStack() as stack:
        file = stack.enter_context(_open_file(path))
        read: list[bytes] = []
        begun: list[bytes] = []
        while len(begun) < 2 and (line := file.readline()):
            line = line.removeprefix(codecs.BOM_UTF8)
            read.append(line)
            if not line.strip():
                continue
            if not line.lstrip().startswith(b"{"):
                break
            begun.append(line)
        if len(begun) == 2 and all(map(_is_object, begun)):
            return _read_each(chain(read, file), path, stack.pop_all())
        return _list_tools(b"".join(read) + file.read(), path)


def _list_skills(folder: Path) -> list[Any]:
    entries, flaws = read_skills(folder)
    for flaw in flaws:
        _log.warning("%s", flaw)
    if not entries:
        raise InvalidRequest(f"{folder}: there is no SKILL.md in it, and no Markdown of an agent")
    return entries


def _read_each(lines: Iterable[bytes], path: Path, file: ExitStack) -> Iterator[Any]:
    with file:
        for number, line in enumerate(lines, 1):
            try:
                if line.strip():
                    yield msgspec.json.decode(line)
            except NOT_JSON as error:
                where = f"{_show_name(path)}, line {number}"
                raise InvalidJson(f"{where}: not JSON: {error}") from None


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


def read_content(content: Any, path: Path | None = None) -> Any:
    """Return the tools of decoded content as they are written; what is no list as it is.

    They are those of a list, of an answer or request that carries one, of an object that has them
    by name, or the operations of an OpenAPI document, whose other files lie beside `path`.
    """
    if is_openapi(content):
        return read_operations(content, _decode_file, path)
    listed = list_in(content)
    if is_one_tool(listed):
        return [listed]
    return list_by_name(listed) or listed


def _list_tools(data: bytes, path: Path) -> list[Any]:
    """Return the tools of a file as they are written, or as an OpenAPI document means them."""
    shown = _show_name(path)
    file = None if path == STDIN else path
    content = _decode(data, path)
    listed = read_content(content, file)
    if isinstance(listed, list):
        return listed
    if known := explain_form(listed, file):
        raise InvalidRequest(f"{shown}: {known}")
    expected = "a list of tools, tools by name, an object with `tools`, or an OpenAPI document"
    raise InvalidRequest(f"{shown}: expected {expected}, version 2.0 or 3")


def _decode_file(path: Path) -> Any:
    return _decode(path.read_bytes(), path)


def _decode(data: bytes, path: Path) -> Any:
    """Return the values of JSON, or of YAML by the file's name or by how it begins.

    Raises:
        ConfigurationError: it is YAML, and nothing here reads that.
        InvalidJson: it is neither.
    """
    data = data.removeprefix(codecs.BOM_UTF8)
    shown = _show_name(path)
    suffix = path.suffix.lower()
    try:
        text = data.decode("utf-8")
        is_json = text.lstrip()[:1] in ("{", "[")
        if suffix in YAML or (not is_json and _OPENAPI_IN_YAML.search(text)):
            return read_yaml(text, shown)
        return msgspec.json.decode(text)
    except UnicodeDecodeError as error:
        wrong = f"not UTF-8: byte 0x{data[error.start]:02x}"
        raise InvalidJson(f"{shown}{_place(data, error)}: {wrong}") from None
    except NOT_JSON as error:
        table = "; a table holds no schemas, so tools are written as JSON"
        hint = table if suffix == ".csv" else ""
        wrong = f"not valid JSON: {error}{hint}"
        raise InvalidJson(f"{shown}{_place(data, error)}: {wrong}") from None


def _place(data: bytes, error: Exception) -> str:
    """Return where bytes stop being JSON, as `:LINE:COLUMN` from 1; empty if unknown."""
    end = find_end(data, error)
    return "" if end is None else ":{}:{}".format(*locate(data, end))
