"""Compiled tools as bytes for a store, from which other processes take them instead of compiling.

Whoever can write to the store must not gain more than other answers: no pickle, every length and
number is checked, and what a tool says comes from the list that was sent. Hashes are made anew,
since each process has its own. With a key, only what was written with it is taken.
"""

import hmac
from collections.abc import Iterable, Mapping
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from struct import pack
from sys import version_info

import msgspec
import numpy as np
from msgspec.structs import replace

import toolscout
from toolscout.contract.tools import Tool
from toolscout.index import patterns
from toolscout.index.compile import CompiledTool
from toolscout.index.vectors import Embedder
from toolscout.tools.traits import unpack_clues

MAX_SEALED_BYTES = 8 * 1024 * 1024
"""Bytes that are written at most: some 2,600 tools. More would hold up the store's other callers
for longer than compiling takes."""

_MARK = 32
"""Bytes of the mark before the tools."""

_MOST = 1 << 31

_NEARLY = 0.01
"""How far the square of a vector's length may be from 1, unless it means nothing and is 0."""

_MADE_BY = ("common", "contract", "data", "index", "text", "tools")
"""Rooms that decide what becomes of a tool."""

_encode = msgspec.msgpack.Encoder().encode
_encode_tool = msgspec.json.Encoder().encode
_decode_one = msgspec.msgpack.Decoder(CompiledTool).decode
_decode = msgspec.msgpack.Decoder(dict[bytes, CompiledTool]).decode


def seal(tools: Mapping[bytes, CompiledTool], key: str = "") -> bytes | None:
    """Pack embedded tools by their digests; None if they take more than `MAX_SEALED_BYTES`."""
    body = _encode({digest: _bare(tool) for digest, tool in tools.items()})
    return _mark(body, key) + body if len(body) <= MAX_SEALED_BYTES else None


def unseal(
    sealed: bytes, tools: Iterable[tuple[bytes, Tool]], embedder: Embedder, key: str = ""
) -> dict[bytes, CompiledTool]:
    """Return those of some tools, given with their digests, that were sealed.

    Raises:
        ValueError: it was sealed with another key, was damaged, or is nothing that `seal` returns.
    """
    body = memoryview(sealed)[_MARK:]
    if not hmac.compare_digest(_mark(body, key), sealed[:_MARK]):
        raise ValueError("the mark is not that of the content")
    known = _decode(body)
    return {
        digest: _checked(known[digest], _encode_tool(tool), embedder)
        for digest, tool in tools
        if digest in known
    }


def pack_tool(tool: CompiledTool) -> bytes:
    """Pack one embedded tool for a database, without what was sent of it."""
    return _encode(_bare(tool))


def unpack_tool(packed: bytes, wire: bytes, embedder: Embedder) -> CompiledTool:
    """Return a tool, given as it was sent in JSON and packed.

    Raises:
        ValueError, msgspec.MsgspecError: it is nothing that `pack_tool` returns.
    """
    return _checked(_decode_one(packed), wire, embedder)


def _bare(tool: CompiledTool) -> CompiledTool:
    return replace(tool, wire=b"", counts=replace(tool.counts, hashes=b""))


def _mark(body: bytes | memoryview, key: str) -> bytes:
    return hmac.digest(key.encode(), body, "sha256")


def _checked(found: CompiledTool, wire: bytes, embedder: Embedder) -> CompiledTool:
    """Return a tool with what was left out.

    Raises:
        ValueError: a part has another length or range than compiling would give it.
    """
    counts, vector = found.counts, np.frombuffer(found.vector or b"", np.float32)
    tokens = np.frombuffer(found.name_tokens, np.int32)
    lines_end = [text.find(b"\n") == len(text) - 1 for text in found.lines]
    fits = (
        all(lines_end)
        and all(counts.terms)
        and len(set(counts.terms)) == len(counts.terms)
        and len(counts.counts) == 8 * len(counts.terms)
        and all(0 <= number < _MOST for number in (found.tokens, *counts.lengths))
        and len(vector) == embedder.dimension
        and (not vector.any() or abs(float(vector.dot(vector)) - 1.0) < _NEARLY)
        and (not len(tokens) or 0 <= tokens.min() <= tokens.max() < len(embedder.lengths))
        and all(found.spellings)
    )
    if not fits:
        raise ValueError("a compiled tool has a part of another length or range")
    unpack_clues(found.clues)
    for example in found.examples:
        patterns.unpack(example)
    hashes = pack(f"{len(counts.terms)}q", *map(hash, counts.terms))
    return replace(found, wire=wire, counts=replace(counts, hashes=hashes))


def build(model: str, domains: str | None) -> str:
    """Return the name of everything that decides what becomes of a tool.

    Args:
        model: digest of the model.
        domains: file with further domains.
    """
    found = sha256(f"{model} {version_info[:2]} {version('PyStemmer')}".encode())
    home = Path(toolscout.__file__).parent
    files = [path for room in _MADE_BY for path in (home / room).rglob("*.*") if _is_text(path)]
    for path in sorted(files):
        found.update(f"{path.relative_to(home)}\0".encode() + path.read_bytes())
    if domains is not None:
        found.update(Path(domains).read_bytes())
    return found.hexdigest()[:16]


def _is_text(path: Path) -> bool:
    return path.suffix in (".py", ".toml")
