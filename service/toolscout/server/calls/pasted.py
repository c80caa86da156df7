"""Read a text as the command line reads a file, for the playground."""

import msgspec
from litestar.types import Receive, Scope, Send

from toolscout.files.reading import read_text
from toolscout.server.calls.decoding import decode_checked
from toolscout.server.compiling.work_threads import run_in_thread
from toolscout.server.context import context_of
from toolscout.server.http.answer import answer_json, send_answer

MAX_TEXT_BYTES = 8 << 20
"""Bytes of a text: reading YAML takes half a second a megabyte."""


class PastedText(msgspec.Struct, frozen=True):
    """What somebody pasted or dropped."""

    text: str


async def read_pasted(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the tools of a text: OpenAPI in JSON or YAML, JSON lines, tools by name.

    Raises:
        Refused: the body is at fault.
        InvalidJson, InvalidRequest: the text is.
    """
    service, request, _ = context_of(scope)
    body = await request.json_body(service.settings, MAX_TEXT_BYTES)
    pasted = decode_checked(body, PastedText)
    tools = await run_in_thread(read_text, pasted.text.encode("utf-8", "replace"))
    await send_answer(send, answer_json({"tools": tools}))
