"""Bedrock: the Converse shape with its stream.

Streams are AWS event streams (`application/vnd.amazon.eventstream`):

    total length | length of the headers | CRC | headers | payload | CRC of everything before

Lengths and CRC-32 are 4 bytes each, the most significant first. A header is the length of its name
in 1 byte, its name, its type in 1 byte and its value; the names of events are texts (type 7).
"""

import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from zlib import crc32

from toolscout.turns.providers.anthropic import Blocks, BlockStream
from toolscout.turns.providers.calls import Call
from toolscout.turns.providers.fields import UNREADABLE, Json, decode, encode, mapping
from toolscout.turns.providers.provider import Choice, ProviderName, SearchResult
from toolscout.turns.providers.stream import Splitter, Stream, StreamEvent

_PRELUDE = struct.Struct(">II")
_CRC = struct.Struct(">I")
_HEAD_BYTES = _PRELUDE.size + _CRC.size
_LEAST_BYTES = _HEAD_BYTES + _CRC.size

MAX_BYTES = 24 * 1024 * 1024
"""Longest event that the format allows."""

_EXCEPTIONS = {429: "throttlingException", 503: "serviceUnavailableException"}
_EXCEPTIONS |= {400: "validationException", 424: "modelStreamErrorException"}
_MESSAGE = {":message-type": "exception"}

_KINDS = {
    "messageStart": "message_start",
    "contentBlockStart": "content_block_start",
    "contentBlockDelta": "content_block_delta",
    "contentBlockStop": "content_block_stop",
    "messageStop": "message_delta",
    "metadata": "message_stop",
}
"""Kinds of events, as those of Anthropic that mean the same."""

_TEXT = 7
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of the values of each type; those of types 6 and 7 have their length in 2 bytes."""


class FrameSplitter(Splitter):
    """Takes bytes in any pieces, gives whole events; bytes that are no event come back as one."""

    def end(self) -> bytes:
        """Return what is left of a stream that ended within an event."""
        return super().end().removesuffix(b"\n\n")  # fed after every stream, for other forms

    def cut(self, chunk: bytes) -> list[bytes]:
        """Return the events that are complete now, as they came."""
        self._rest += chunk
        events = []
        while len(self._rest) >= _HEAD_BYTES:
            total, _ = _PRELUDE.unpack_from(self._rest)
            (check,) = _CRC.unpack_from(self._rest, _PRELUDE.size)
            is_event = check == crc32(self._rest[: _PRELUDE.size])
            if not is_event or not _LEAST_BYTES <= total <= MAX_BYTES:
                events.append(super().end())
            elif len(self._rest) < total:
                break
            else:
                events.append(bytes(self._rest[:total]))
                del self._rest[:total]
        return events

    def read(self, raw: bytes) -> StreamEvent:
        """Decode an event; one that cannot be decoded has no data."""
        headers = b""
        with suppress(struct.error, KeyError, *UNREADABLE):
            total, size = _PRELUDE.unpack_from(raw)
            (check,) = _CRC.unpack_from(raw, len(raw) - _CRC.size)
            checked = raw[: -_CRC.size]
            end = _HEAD_BYTES + size
            if total == len(raw) and check == crc32(checked) and end <= len(checked):
                headers = checked[_HEAD_BYTES:end]
                kind = _read_texts(headers).get(":event-type", "error")
                data = decode(checked[end:])
                data = data if isinstance(data, dict) else None
                return StreamEvent(raw, data, _KINDS.get(kind, kind), headers)
        return StreamEvent(raw, kind="error", headers=headers)


def write_frame(headers: bytes, data: dict[str, Any]) -> bytes:
    """Return an event as bytes."""
    payload = encode(data)
    total = _LEAST_BYTES + len(headers) + len(payload)
    prelude = _PRELUDE.pack(total, len(headers))
    frame = prelude + _CRC.pack(crc32(prelude)) + headers + payload
    return frame + _CRC.pack(crc32(frame))


def _write_header(name: str, value: str) -> bytes:
    head = bytes([len(name)]) + name.encode() + bytes([_TEXT])
    return head + struct.pack(">H", len(value)) + value.encode()


def _read_texts(headers: bytes) -> dict[str, str]:
    """Return the headers that are texts."""
    texts = {}
    place = 0
    while place < len(headers):
        start = place + 1 + headers[place]
        name = headers[place + 1 : start].decode()
        kind = headers[start : start + 1]
        start += 1
        size = _SIZES.get(kind[0]) if kind else 0
        if size is None:
            (size,) = struct.unpack_from(">H", headers, start)
            start += 2
        place = start + size
        if kind and kind[0] == _TEXT:
            texts[name] = headers[start:place].decode()
    return texts


class BedrockStream(BlockStream):
    """The stream of `ConverseStream`."""

    splitter = FrameSplitter
    index_key = "contentBlockIndex"
    block_key = "start"
    reason_key = "stopReason"

    def response(self) -> Json:
        """Return the message with all its blocks."""
        return {"output": {"message": super().response()}}

    def finish(self, *, is_last: bool = True) -> bytes:
        """Return the end, and what is left of an event that did not end."""
        return super().finish(is_last=is_last) + (self.rest() if is_last else b"")

    def fail(self, status: int, error: Json) -> bytes:
        """Return an exception in a frame, which ends a stream."""
        kind = _EXCEPTIONS.get(status, "internalServerException")
        texts = {":exception-type": kind, ":content-type": "application/json"}
        headers = b"".join(map(_write_header, *zip(*(texts | _MESSAGE).items(), strict=True)))
        return write_frame(headers, {"message": error.get("message")})

    def _end(self, event: StreamEvent) -> bytes:
        return self._replace_data(event, self._end_message(self._add_usage(event.data or {})))

    def _write(self, event: StreamEvent, data: Json) -> bytes:
        return write_frame(event.headers, data)

    def _add(self, block: Json, delta: Json, index: Any) -> None:
        _append(block, "text", delta)
        if "toolUse" in block:
            piece = mapping(delta.get("toolUse")).get("input")
            self._inputs.setdefault(index, []).append(piece if isinstance(piece, str) else "")
        if "reasoningContent" in delta:
            reasoning = block.setdefault("reasoningContent", {})
            piece = delta["reasoningContent"]
            _append(reasoning, "redactedContent", mapping(piece))
            for key in ("text", "signature"):  # a request has these one level deeper
                if isinstance(mapping(piece).get(key), str):
                    _append(reasoning.setdefault("reasoningText", {}), key, mapping(piece))

    def _add_input(self, block: Json, arguments: Any) -> Json:
        return {"toolUse": {**block["toolUse"], "input": arguments}}

    def _write_events(self, call: Json, opened: list[StreamEvent]) -> list[StreamEvent]:
        use = call["toolUse"]
        block = {key: value for key, value in use.items() if key != "input"}
        parts = ({"start": {"toolUse": block}}, {"delta": {"toolUse": {"input": use["input"]}}})
        at = {self.index_key: (opened[0].data or {}).get(self.index_key)}
        events = zip(opened, parts, strict=False)  # a call without input has no pieces
        return [StreamEvent(b"", {**at, **part}, e.kind, e.headers) for e, part in events]


def _append(block: Json, key: str, delta: Json) -> None:
    if isinstance(piece := delta.get(key), str):
        block[key] = block.get(key, "") + piece


class BedrockConverse(Blocks):
    """`Converse`."""

    name: ProviderName = "bedrock"
    stream: type[Stream] | None = BedrockStream
    reason_key = "stopReason"
    response_path = ("output", "message", "content")
    text_type = ""

    def forbid_calls(self, request: Json) -> Json:
        """Return the request as it is: Converse cannot say so."""
        return request

    def tools(self, request: Json) -> list[Any]:
        """Return `toolConfig.tools`: specifications, and cache points without a name."""
        return list(mapping(request.get("toolConfig")).get("tools") or [])

    def with_tools(self, request: Json, tools: Sequence[Any]) -> Json:
        """Return the request with other tools; without any, `toolConfig` goes."""
        rest = {key: value for key, value in request.items() if key != "toolConfig"}
        config = mapping(request.get("toolConfig"))
        return {**rest, "toolConfig": {**config, "tools": list(tools)}} if tools else rest

    def choice(self, request: Json) -> Choice:
        """Return what `toolConfig.toolChoice` says."""
        choice = mapping(mapping(request.get("toolConfig")).get("toolChoice"))
        name = mapping(choice.get("tool")).get("name")
        return Choice("any" in choice, [name] if isinstance(name, str) else [])

    def function(self, name: str, description: str, schema: Json) -> Any:
        """Return a tool specification."""
        wrapped = {"json": schema}
        return {"toolSpec": {"name": name, "description": description, "inputSchema": wrapped}}

    def needs_thoughts(self, request: Json) -> bool:
        """Return whether a field of the model's own has it think."""
        more = mapping(request.get("additionalModelRequestFields"))
        return not more.keys().isdisjoint(("thinking", "reasoning_config", "reasoningConfig"))

    def make_search(self, call: Call) -> Json:
        """Return a message of one block."""
        use = {"toolUseId": call.id, "name": call.name, "input": dict(call.arguments)}
        return {"output": {"message": {"content": [{"toolUse": use}]}}}

    def result(self, answered: SearchResult) -> Json:
        """Return a `toolResult` block."""
        content = [{"text": answered.text}]
        return {"toolResult": {"toolUseId": answered.call.id, "content": content}}
