"""Read a search: its envelope, its question, and its tools without parsing known ones.

Nearly all of a body is its tools, and nearly always they are the same bytes as last time. So the
array is compared with the latest ones, or looked up by its hash, *before* anything is decoded, a
token replaces it, and the small rest is decoded. For a known array the result cannot differ: a
valid array was replaced by another one, and it was the tools only if the token is the value of
`tools`. If the array is unknown, the whole body is decoded, with its tools raw.
"""

import re
from contextlib import suppress
from hashlib import sha256
from secrets import token_hex
from typing import Any, Generic, TypeVar

import msgspec

from toolscout.contract.fields import is_absent
from toolscout.contract.requests import (
    BatchRequest,
    FilterRequest,
    HotRequest,
    Options,
    Question,
    ResolveRequest,
    SearchFields,
    SearchRequest,
)
from toolscout.external.catalogs import ExternalCatalog
from toolscout.index.cache import CatalogCache
from toolscout.index.catalog import Catalog
from toolscout.ranking.ask import Ask
from toolscout.server.calls.decoding import Decoder, decode, decoder_of
from toolscout.server.calls.unknown_fields import find_unknown_fields
from toolscout.server.compiling.work_threads import run_in_thread
from toolscout.server.http.problems import Refused, refuse_blank, refuse_field
from toolscout.settings import BY_NAME, Settings
from toolscout.text import conversation
from toolscout.tools.conversion import Skipped

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)
R = TypeVar("R", bound=SearchFields | ResolveRequest | FilterRequest | HotRequest)
"""A request that carries tools, or the digest of tools."""

_KEY = b'"tools"'
_TOKEN = f'["{token_hex(16)}"]'.encode()

HASHED_AT_ONCE = 1 << 18
"""Maximum bytes of tools that are hashed on the event loop (0.15 ms); more are hashed in a thread.
"""

MAX_LISTS = 16
"""Maximum number of lists of names after the tools that are skipped to find their end."""

_SET = tuple(set(Ask.__struct_fields__) & BY_NAME.keys())
"""Fields of a question that a setting has the default of."""

_EMPTY = re.compile(rb"\[\s*\]")

_PADDING = 64
"""Blanks that may precede a closing bracket."""


Known = tuple[Catalog, int, Skipped]
"""A catalog compiled from these very bytes before, how many entries they hold, and which of these
are no tools."""


class Read(msgspec.Struct, Generic[R], frozen=True, eq=False):
    """A decoded envelope; `known` when its tools were recognised, else `raw_hash` is theirs."""

    request: R
    known: Known | None
    raw_hash: bytes
    unknown: tuple[str, ...] = ()
    """The fields of the envelope that are none of ours."""
    external: ExternalCatalog | None = None
    """The catalog, if its tools are not held here."""

    @property
    def is_cold(self) -> bool:
        """Whether the tools have to be compiled first."""
        return self.known is None and not is_absent(self.request.tools)

    def make_answerable(self, ask: Ask) -> Ask:
        """Return a question as the catalog can answer it.

        Raises:
            NeedsAllTools: it cannot.
        """
        return ask if self.external is None else self.external.make_answerable(ask)


async def read(shape: type[R], body: bytes, lists: CatalogCache, tenant: str) -> Read[R]:
    """Decode a body of a shape, by the fast path if its tools are known.

    Raises:
        Refused: it is not JSON, or a field is of the wrong type or out of bounds.
    """
    decoder: Decoder[R] = decoder_of(shape)
    candidate = memoryview(b"")
    raw_hash = b""
    start = _find_tools_start(body)
    if start is not None:
        kept = lists.find_list(tenant, body, start)
        end = _find_tools_end(body, start) if kept is None else start + kept[0]
        if end is not None:
            candidate = memoryview(body)[start:end]
            raw_hash = await _hash(candidate) if kept is None else kept[1]
            compiled = lists.find_by_alias(tenant, raw_hash)
            read = (
                None if compiled is None else _decode_spliced(decoder, body, start, end, compiled)
            )
            if read is not None:
                if kept is None:
                    lists.keep_list(tenant, bytes(candidate), raw_hash)
                return read
    request = decode(body, decoder)
    rest = body
    if is_absent(request.tools):
        return Read(request, None, b"", find_unknown_fields(body, decoder.fields))
    tools = memoryview(request.tools)
    if raw_hash and bytes(tools) == bytes(candidate):
        rest = body[:start] + _TOKEN + body[end:]  # megabytes of tools are not read once more
    else:
        raw_hash = await _hash(tools)
    unknown = find_unknown_fields(rest, decoder.fields)
    return Read(request, lists.find_by_alias(tenant, raw_hash), raw_hash, unknown)


def _decode_spliced(
    decoder: "Decoder[R]", body: bytes, start: int, end: int, compiled: Known
) -> Read[R] | None:
    """Decode a body whose known tools are replaced by a token; None if they are not its tools."""
    with suppress(Refused):  # the whole body gives the error where the rest is malformed
        envelope = body[:start] + _TOKEN + body[end:]
        request = decode(envelope, decoder)
        if bytes(request.tools) == _TOKEN:
            return Read(request, compiled, b"", find_unknown_fields(envelope, decoder.fields))
    return None


async def _hash(raw: memoryview) -> bytes:
    if len(raw) <= HASHED_AT_ONCE:
        return sha256(raw).digest()
    return (await run_in_thread(sha256, raw)).digest()


def make_ask(request: SearchRequest, settings: Settings) -> Ask:
    """Return the question in an envelope of either contract.

    Raises:
        InvalidRequest: both names of one field are given, or the pattern is missing.
        EmptyPattern: the pattern is blank, or no message is a user's.
    """
    _refuse_both("pattern", request.pattern, "query", request.query)
    _refuse_both("query", request.query, "messages", request.messages)
    pattern = request.pattern if request.pattern is not None else request.query
    return _make_question(
        Question(pattern=pattern, messages=request.messages), "", request, settings
    )


def make_asks(request: BatchRequest, settings: Settings) -> list[Ask]:
    """Return the questions of a batch.

    Raises:
        InvalidRequest, EmptyPattern: as for one; the error names the pattern.
    """
    return [
        _make_question(asked, f"patterns[{number}]", request, settings)
        for number, asked in enumerate(request.patterns)
    ]


def _make_question(
    asked: str | Question, place: str, request: SearchFields, settings: Settings
) -> Ask:
    """Make a question of a pattern or a conversation; `place` is its path in the request."""
    if isinstance(asked, str):
        path = place
        question = conversation.Conversation(asked)
    else:
        path = f"{place}.pattern".lstrip(".")
        other = f"{place}.messages".lstrip(".")
        _refuse_both(path, asked.pattern, other, asked.messages)
        if asked.messages is not None:
            path = other
            question = conversation.read(asked.messages, other)
        elif asked.pattern is not None:
            question = conversation.Conversation(asked.pattern)
        else:
            raise refuse_field(path, "is required")
    _refuse_both("top_k", request.top_k, "max_tools", request.max_tools)
    if not question.pattern.strip():
        raise refuse_blank(path)
    require_tools(request)
    fields = {name: getattr(request, name) for name in Options.__struct_fields__}
    fields["top_k"] = read_whole(request.top_k or request.max_tools)
    fields["budget_tokens"] = read_whole(request.budget_tokens)
    return ask_with(settings, **fields, pattern=question.pattern, earlier=question.earlier)


def ask_with(settings: Settings, **fields: Any) -> Ask:
    """Make a question; settings, and then defaults, replace what is missing or None."""
    usual = {name: getattr(settings, name) for name in _SET}
    return Ask(**usual | {name: value for name, value in fields.items() if value is not None})


def is_newer(request: object) -> bool:
    """Whether a request has fields of the newer contract, whose others are not ours to foresee."""
    names = ("query", "max_tools")
    return any(getattr(request, name, None) is not None for name in names)


def require_tools(request: SearchFields | ResolveRequest | FilterRequest | HotRequest) -> None:
    """Check that a request has tools, or names them.

    Raises:
        InvalidRequest: neither, or none beside the name of a catalog.
    """
    if is_absent(request.tools):
        if request.catalog is None:
            raise refuse_field("tools", "is required, unless catalog is given")
    elif request.catalog is not None and _EMPTY.fullmatch(memoryview(request.tools)):
        raise refuse_field("tools", "is empty beside catalog, which would be ignored; leave it out")


def _refuse_both(older: str, one: object, newer: str, other: object) -> None:
    if one is not None and other is not None:
        raise refuse_field(
            newer, f"not together with {older}, which means the same; send one of them"
        )


def read_whole(value: float | None) -> int | None:
    """Convert a whole number that may have been written as 5.0, as some languages do."""
    return None if value is None else int(value)


def _find_tools_start(body: bytes) -> int | None:
    """Guess where the tools' array begins: at the first bracket after the key."""
    key = body.find(_KEY)
    start = body.find(b"[", key)
    if key < 0 or start < 0 or body[key + len(_KEY) : start].strip() != b":":
        return None
    return start


def _find_tools_end(body: bytes, start: int) -> int | None:
    """Guess where the tools' array ends: at the last bracket of the body.

    Lists of names may follow it (`always_keep`, filters); they do not end in an object.
    """
    end = len(body)
    for _ in range(MAX_LISTS):
        end = body.rfind(b"]", start, end)
        if end < 0:
            return None
        if body[max(start, end - _PADDING) : end].rstrip()[-1:] == b"}":
            return end + 1
    return None
