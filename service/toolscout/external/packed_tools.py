"""Compiled tools as bytes in a database, from which every process takes them.

Whoever can write there must not gain more than other answers: no pickle, and every length and
number is checked. Hashes are made anew, since each process has its own.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from sys import version_info

import msgspec
import numpy as np
from msgspec.structs import replace

import toolscout
from toolscout.index import pattern_vectors
from toolscout.index.compiled_tool import CompiledTool
from toolscout.index.embedder import Embedder
from toolscout.tools.traits import unpack_clues

_MAX_NUMBER = 1 << 31

_NEARLY = 0.01
"""How far the square of a vector's length may be from 1, unless it means nothing and is 0."""

_MADE_BY = ("common", "contract", "data", "external", "index", "text", "tools")
"""Rooms that decide what becomes of a tool."""

_encode = msgspec.msgpack.Encoder().encode
_decode_one = msgspec.msgpack.Decoder(CompiledTool).decode


def pack_tool(tool: CompiledTool) -> bytes:
    """Pack one embedded tool for a database, without what was sent of it."""
    return _encode(replace(tool, wire=b""))


def unpack_tools(
    packed: Iterable[bytes], wires: Sequence[bytes], embedder: Embedder
) -> list[CompiledTool]:
    """Return tools, each given as it was packed and as it was sent in JSON.

    Raises:
        ValueError, msgspec.MsgspecError: one is nothing that `pack_tool` returns; a part has
            another length or range than compiling would give it.
    """
    tools = list(map(_decode_one, packed))
    size = 4 * embedder.dimension
    fits = all(map(_is_fitting, tools)) and all(len(tool.vector or b"") == size for tool in tools)
    if not fits or not _are_usable(tools, embedder):
        raise ValueError("a compiled tool has a part of another length or range")
    return [_complete(tool, wire) for tool, wire in zip(tools, wires, strict=True)]


def _is_fitting(tool: CompiledTool) -> bool:
    counts = tool.counts
    return (
        all(text.find(b"\n") == len(text) - 1 for text in tool.lines)
        and all(counts.terms)
        and len(set(counts.terms)) == len(counts.terms)
        and len(counts.counts) == 8 * len(counts.terms)
        and all(0 <= number < _MAX_NUMBER for number in (tool.tokens, *counts.lengths))
        and all(tool.spellings)
    )


def _are_usable(tools: Sequence[CompiledTool], embedder: Embedder) -> bool:
    """Whether all vectors have the length 1 or 0."""
    packed = b"".join([tool.vector or b"" for tool in tools])
    vectors = np.frombuffer(packed, np.float32).reshape(-1, embedder.dimension)
    squares = np.einsum("td,td->t", vectors, vectors)
    return bool(((np.abs(squares - 1.0) < _NEARLY) | (squares == 0)).all())


def _complete(tool: CompiledTool, wire: bytes) -> CompiledTool:
    unpack_clues(tool.clues)
    for example in tool.examples:
        pattern_vectors.unpack(example)
    return replace(tool, wire=wire)


def build(model: str, domains: str | None) -> str:
    """Return the name of everything that decides what becomes of a tool.

    Args:
        model: digest of the model.
        domains: file with further domains.
    """
    hashed = sha256(f"{model} {version_info[:2]} {version('PyStemmer')}".encode())
    home = Path(toolscout.__file__).parent
    files = {path for room in _MADE_BY for path in (home / room).rglob("*.*")}
    for path in sorted(path for path in files if path.suffix in (".py", ".toml")):
        hashed.update(f"{path.relative_to(home)}\0".encode() + path.read_bytes())
    if domains is not None:
        hashed.update(Path(domains).read_bytes())
    return hashed.hexdigest()[:16]
