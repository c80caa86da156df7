"""Transports to the configured servers, which read what these write in bounded pieces."""

import asyncio
import gc
import json
import os
import re
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import httpx2
import mcp_types
import msgspec
from mcp.client.sse import sse_client
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from toolscout.gateway.mcp.failures import MAX_MESSAGE_BYTES, UNREADABLE, describe_length
from toolscout.gateway.mcp.folders import serve_folders
from toolscout.gateway.mcp.http_answers import (
    MAX_MESSAGE_VALUES,
    bound_answer,
    describe_answer,
    run_apart,
)
from toolscout.gateway.mcp.servers import FolderServer, HttpServer, Server, StdioServer
from toolscout.gateway.mcp.stderr_lines import MAX_LINE_BYTES, log_lines
from toolscout.index.values import count_values_outside_texts

PIECE_BYTES = 1 << 18
"""Bytes that are read at once; of several servers none waits for a long line of another."""

MAX_MENDED_BYTES = 2 * 1024 * 1024
"""A longer message is not mended, which takes several times as long as to decode it."""

GRACE_S = 2.0
"""Seconds for a server to end after its standard input was closed, and again after SIGTERM."""

CONNECT_S = 30.0
"""Seconds for a server to be reached over HTTP."""

STREAM_S = 300.0
"""Seconds for the next bytes of a stream that a server holds open."""

_LONE = re.compile("[\ud800-\udfff]")
"""Half of a pair of surrogates, which JavaScript writes for a text that was cut within one."""

_ID = rb'"id"\s*:\s*(\d+)'
_FIRST_ID = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb"\s*,")
_LAST_ID = re.compile(_ID + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')
_ID_BYTES = 128
"""The id of an answer is within so many bytes of its beginning or end."""

Streams = tuple[Any, Any]
"""Messages that come from a server, and those that go to it."""


@asynccontextmanager
async def open_streams(name: str, server: Server) -> AsyncIterator[Streams]:
    """Yield streams of messages from a server and to it; afterwards its processes are gone."""
    if isinstance(server, StdioServer):
        async with (
            log_lines(name, server.secrets) as stderr,
            _run_process(server, stderr) as streams,
        ):
            yield streams
    elif isinstance(server, FolderServer):
        async with serve_folders(name, server) as streams:
            yield streams
    elif server.is_sse:
        auth = _make_auth(name, server)
        opened = sse_client(
            server.url, server.headers, httpx_client_factory=_make_client, auth=auth
        )
        async with opened as streams:
            yield streams
    else:
        timeout = httpx2.Timeout(CONNECT_S, read=STREAM_S)
        client = _make_client(server.headers, timeout, _make_auth(name, server))
        answer = ""

        async def note(response: httpx2.Response) -> None:
            nonlocal answer
            if response.request.method == "POST":
                answer = describe_answer(response)

        client.event_hooks = {"response": [bound_answer, note]}
        try:
            opened = streamable_http_client(server.url, http_client=client, max_sse_event_size=None)
            async with client, opened as streams:
                yield streams
        except Exception as error:
            error.add_note(answer)
            raise


def _make_client(
    headers: dict[str, str] | None = None,
    timeout: httpx2.Timeout | None = None,
    auth: httpx2.Auth | None = None,
) -> httpx2.AsyncClient:
    """Return a client whose answers are bounded, also where they are compressed."""
    hooks = {"response": [bound_answer]}
    return httpx2.AsyncClient(headers=headers, timeout=timeout, auth=auth, event_hooks=hooks)


class _Key(httpx2.Auth):
    """Ends a connection whose key is refused; the SDK reports only that something failed."""

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response]:
        response = yield request
        if response.status_code == 401:
            response.raise_for_status()


def _make_auth(name: str, server: HttpServer) -> httpx2.Auth:
    if server.auth is None:
        return _Key()
    from toolscout.gateway.mcp.oauth import Tokens  # whose library takes .3 s to import

    return Tokens(name, server)


@asynccontextmanager
async def _run_process(server: StdioServer, stderr: int) -> AsyncIterator[Streams]:
    """Run a server in a process group of its own.

    The SDK's transport reads lines of any length, drops those that it cannot decode, so that a
    call waits for ever, and leaves a process behind that is still starting when it is cancelled.

    A subprocess gets the variables of its own configuration and those that hosts pass on (`PATH`,
    `HOME`, `USER` and the like), not the rest of this process's environment.
    """
    process = await asyncio.create_subprocess_exec(
        server.command,
        *server.args,
        stdin=PIPE,
        stdout=PIPE,
        stderr=stderr,
        env=get_default_environment() | server.env,
        cwd=server.cwd,
        start_new_session=True,
    )
    received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception]()
    outgoing, sent = anyio.create_memory_object_stream[SessionMessage]()
    work = _read(process, received), _write(process, sent, received)
    tasks = list(map(asyncio.create_task, work))
    failure: Exception | None = None
    try:
        yield incoming, outgoing
    except Exception as error:
        failure = error
        raise
    finally:
        incoming.close()
        outgoing.close()
        ending = asyncio.create_task(_end_process(process))
        try:
            while not ending.done():  # a second cancellation must not shorten the wait
                with suppress(asyncio.CancelledError):
                    await asyncio.shield(ending)
        finally:
            for task in tasks:
                task.cancel()
            _send_signal(process.pid, signal.SIGKILL)
            process._transport.close()  # type: ignore[attr-defined]  # nothing public does
            with anyio.move_on_after(GRACE_S, shield=True):  # or it would be left a zombie
                await process.wait()
            if failure is not None and (process.returncode or 0) > 0:
                failure.add_note(f"status {process.returncode}")


async def _read(process: Process, received: Any) -> None:
    """Pass on the messages of a server; that they have ended is the end of the connection."""
    stdout: Any = process.stdout
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async with received:
            async for line, size in _read_lines(stdout):
                message = await run_apart(_decode_message, line, size)
                if message is None:
                    await asyncio.sleep(0)  # such lines by the million hold nobody up
                else:
                    await received.send(SessionMessage(message))
                del message  # it may be long, and the next one far
    while await stdout.read(MAX_LINE_BYTES):
        pass  # a server that waits for a reader does not end


async def _write(process: Process, sent: Any, received: Any) -> None:
    """Send messages to a server, until it reads no more."""
    stdin: Any = process.stdin
    with suppress(OSError):
        async with sent:
            async for one in sent:
                text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
                stdin.write(text.encode() + b"\n")
                await stdin.drain()
    received.close()


async def _read_lines(stdout: asyncio.StreamReader) -> AsyncIterator[tuple[bytearray, int]]:
    """Yield each line, which is cleared afterwards, and its bytes; both ends of one too long."""
    line = bytearray()
    size = 0
    while piece := await stdout.read(PIECE_BYTES):
        for part in piece.splitlines(keepends=True):
            line += part
            size += len(part)
            if size > MAX_MESSAGE_BYTES:
                del line[_ID_BYTES:-_ID_BYTES]
            if part.endswith(b"\n"):
                yield line, size
                line.clear()
                size = 0
    if line:
        yield line, size


def _decode_message(line: bytearray, size: int) -> mcp_types.JSONRPCMessage | None:
    """Decode a line; an answer that cannot be read is an error, so that its call ends."""
    decoded: Any = None
    is_long = size > MAX_MESSAGE_BYTES
    if not is_long and count_values_outside_texts(line) <= MAX_MESSAGE_VALUES:
        gc.disable()  # each collection would walk all values that were made so far
        try:
            decoded = _decode(line)
            if not _is_meant_as_message(decoded):
                return None
            # Four times as fast as the adapter's own way from JSON.
            return mcp_types.jsonrpc_message_adapter.validate_python(decoded, by_name=False)
        except (ValueError, RecursionError):
            pass
        finally:
            gc.enable()
    number = _find_id(line) if decoded is None else decoded.get("id")
    if not isinstance(number, int):  # such as in a line that was meant for standard error
        return None
    why = describe_length(size) if is_long else UNREADABLE
    error = mcp_types.ErrorData(code=mcp_types.PARSE_ERROR, message=why)
    return mcp_types.JSONRPCError(jsonrpc="2.0", id=number, error=error)


def _is_meant_as_message(decoded: Any) -> bool:
    """Whether JSON is a message, right or wrong, and no line of a log, which may have an `id`."""
    return isinstance(decoded, dict) and (
        "jsonrpc" in decoded or "result" in decoded or isinstance(decoded.get("error"), dict)
    )


def _find_id(line: bytearray) -> int | None:
    matched = _FIRST_ID.match(line[:_ID_BYTES]) or _LAST_ID.search(line[-_ID_BYTES:])
    return None if matched is None else int(matched[1])


def _decode(line: bytearray) -> Any:
    """Decode JSON; what is no character becomes U+FFFD, a number without value or bounds null.

    Raises:
        ValueError: it is no JSON, or too long to be mended.
        RecursionError: it is nested too deeply.
    """
    try:
        return msgspec.json.decode(line)
    except ValueError:
        if len(line) > MAX_MENDED_BYTES:
            raise
        text = json.dumps(json.loads(line.decode(errors="replace")), ensure_ascii=False)
        return json.loads(_LONE.sub("\ufffd", text), parse_constant=lambda _: None)


async def _end_process(process: Process) -> None:
    """End a server as the protocol says: close its input, then signal its whole group."""
    stdin: Any = process.stdin
    stdin.close()
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            _send_signal(process.pid, number)
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await process.wait()
                return


def _send_signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
