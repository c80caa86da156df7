"""What went wrong with a server, in words that repeat nothing of its configuration."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp import MCPError
from pydantic import ValidationError

from toolscout.client.endpoint import hide_secrets
from toolscout.gateway.mcp.servers import Server, StdioServer

LOST = (
    "Connection closed",
    "SSE stream ended without a response",
    "Session not found",
    "Session terminated",
)
"""The words of SDKs for a lost connection or session. Their codes are those of servers, too."""

_ANSWER = "the answer "
UNREADABLE = f"{_ANSWER}cannot be read"
"""The error for an answer that is not JSON, has too many values or is nested too deeply."""

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""Bytes of a message of a server, decoded."""

_TOO_LONG = f"{_ANSWER}is too long: "

_NO_VERSION = "Unsupported protocol version"
"""How the SDK's words begin for a server that speaks none that it knows."""

_NO_MCP = ("Server returned an error response", "Not Found", "Unexpected content type")
"""How the SDK's error begins for an answer that breaks the protocol."""

PROCESS_ENDED = "its process has ended"

MIN_SECRET_CHARS = 4
"""Shorter values, such as `1` or `on`, are no secrets, and may be part of any word."""

_KNOWN: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    ((TimeoutError, httpx2.TimeoutException), "it does not answer in time"),
    ((ValidationError,), "its answer is malformed"),
)


_NOT_STARTED = (FileNotFoundError, NotADirectoryError, PermissionError)
"""What is raised where a command or its folder cannot be used."""

MAX_SHOWN_CHARS = 200
"""Characters of a command or folder that a reason shows."""

_GONE = (
    ConnectionError,
    EOFError,
    httpx2.TransportError,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
)
"""Exceptions that mean that the other end is gone."""

_WRAPPERS = (RuntimeError, BaseExceptionGroup)
"""What libraries wrap errors in; they say nothing themselves."""


class LoginNeeded(Exception):  # noqa: N818 - named for what is missing
    """A server asks for a token, and none is left that can be used or renewed."""

    def __str__(self) -> str:
        return f"needs login: toolscout mcp --config FILE --login {self.args[0]}"


def is_lost(error: BaseException) -> bool:
    """Whether an error of the protocol tells of the connection, not of the request."""
    return isinstance(error, MCPError) and error.error.message in LOST


def describe_length(size: int | None, most: int = MAX_MESSAGE_BYTES) -> str:
    """Return the error for an answer that is too long; without a `size` where nobody knows it."""
    if size is None:
        return f"{_TOO_LONG}it has more than {most:,} bytes"
    return f"{_TOO_LONG}it has {size:,} bytes; at most {most:,} are read"


def find_flaw(error: BaseException) -> str | None:
    """Return what is wrong with an answer, as in "cannot be read"; None of another error."""
    message = UNREADABLE if isinstance(error, ValidationError) else ""
    if isinstance(error, MCPError):
        message = error.error.message
    is_odd = message.startswith((UNREADABLE, _TOO_LONG))
    return message.removeprefix(_ANSWER) if is_odd else None


def explain(error: BaseException, server: Server) -> str:
    """Return what is wrong, for a log and a host.

    Messages of libraries are left out, for they may repeat a URL with a key, or a header.
    """
    every = list_causes(error)
    if isinstance(server, StdioServer):
        missing = (one for one in every if isinstance(one, _NOT_STARTED))
        if (first := next(missing, None)) is not None:
            return _explain_program(first, server)
    is_other = any(isinstance(one, MCPError) and one.message.startswith(_NO_MCP) for one in every)
    if is_other and (answer := read_notes(error)):
        return answer
    reason = next(filter(None, map(_explain_known, every)), None)
    if reason is not None:
        return reason
    is_process = isinstance(server, StdioServer)
    if any(isinstance(one, _GONE) or is_lost(one) for one in every):
        return PROCESS_ENDED if is_process else _explain_unreachable(server)
    telling = next((one for one in every if not isinstance(one, _WRAPPERS)), error)
    what = "it could not be started" if is_process else _explain_unreachable(server)
    return f"{what} ({type(telling).__name__.lstrip('_')})"


def _explain_program(error: OSError, server: StdioServer) -> str:
    """Return which of a server's command and folder cannot be used."""
    folder = server.cwd
    if folder is not None and error.filename == folder:
        named = f"its folder {_show_path(folder, server)}"
    else:
        program = find_program(server.command, folder or "")
        named = f"its command {_show_path(program, server)}"
        if program != server.command:
            return f"{named} is followed by more, which belongs into args and env"
    if isinstance(error, PermissionError):
        return f"{named} may not be used"
    is_path = "/" in server.command  # what has none is searched on the PATH
    if is_path and Path(folder or "", server.command).is_file():
        return f"the program that the first line of {named} names does not exist"
    return f"{named} does not exist"


def _show_path(path: str, server: StdioServer) -> str:
    return make_printable(str(redact(path, server.secrets)))[:MAX_SHOWN_CHARS]


def find_program(command: str, folder: str = "") -> str:
    """Return the first word of a command, for others may be secret arguments; no value of it."""
    if Path(folder, command).is_file():
        return command
    return next(iter(command.split()), "").partition("=")[0]


def _explain_unreachable(server: Server) -> str:
    return f"it cannot be reached at {hide_secrets(getattr(server, 'url', ''))}"


def make_printable(text: str) -> str:
    """Return a text with everything escaped that a terminal would obey or not show."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


def redact(data: Any, secrets: Iterable[str]) -> Any:
    """Return JSON, or a text, without the values of secrets, in keys and numbers neither.

    Of a value of several lines each is left out. None where it is nested too deeply for that.
    """
    lines = {line.strip() for secret in secrets for line in secret.splitlines()}
    telling = [line for line in lines if len(line) >= MIN_SECRET_CHARS]
    try:
        return _redact_values(data, sorted(telling, key=len, reverse=True))
    except RecursionError:
        return None


def _redact_values(data: Any, secrets: Sequence[str]) -> Any:
    if isinstance(data, dict):
        return {
            _redact_values(str(key), secrets): _redact_values(data[key], secrets) for key in data
        }
    if isinstance(data, list):
        return [_redact_values(value, secrets) for value in data]
    text = str(data)
    for secret in secrets:
        text = text.replace(secret, "***")
    return data if text == str(data) else text


def _explain_known(error: BaseException) -> str | None:
    if isinstance(error, LoginNeeded):
        return str(error)
    if isinstance(error, httpx2.HTTPStatusError):
        return f"it answers with status {error.response.status_code}"
    if isinstance(error, RuntimeError) and str(error).startswith(_NO_VERSION):
        return "it speaks no known version of the protocol"
    if isinstance(error, MCPError):
        if flaw := find_flaw(error):
            return f"its answer {flaw}"
        return None if is_lost(error) else f"it answers with error {error.error.code}"
    return next((text for kinds, text in _KNOWN if isinstance(error, kinds)), None)


def read_notes(error: BaseException) -> str:
    """Return what a transport has noted of an error: an answer, or how a process has ended."""
    return ": ".join(note for one in list_causes(error) for note in getattr(one, "__notes__", ()))


def list_causes(error: BaseException) -> list[BaseException]:
    """Return an error, those of its group, and what they were raised from."""
    errors = [error]
    for one in errors:  # which grows meanwhile
        inner = (*getattr(one, "exceptions", ()), one.__cause__, one.__context__)
        errors += [cause for cause in inner if cause is not None and cause not in errors]
    return errors
