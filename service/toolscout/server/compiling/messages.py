"""What the serving process and its worker say to each other."""

from collections.abc import Callable, Sequence
from pickle import PickleBuffer
from typing import Any

import msgspec

from toolscout.index.packing import SEED, Packed
from toolscout.index.vector_index import NameVectors
from toolscout.index.vectors import Floats


class Setup(msgspec.Struct, frozen=True):
    """What a worker has to know."""

    model: str | None
    synonyms: str | None
    domains: str | None
    max_tools: int
    cache_bytes: int
    encoder: bool = False
    seed: int = SEED
    """Of the serving process."""


class Sent(msgspec.Struct, frozen=True):
    """A list as it was sent, and its SHA-256."""

    tenant: str
    raw_hash: bytes
    raw: PickleBuffer

    @classmethod
    def of(cls, tenant: str, raw_hash: bytes, raw: bytes) -> "Sent":
        """Return a list that is never copied on its way."""
        return cls(tenant, raw_hash, PickleBuffer(raw))


class Read(msgspec.Struct, frozen=True):
    """Read a list: answered by a `Listing`."""

    sent: Sent


class Compile(msgspec.Struct, frozen=True):
    """Compile a list: answered by `Lexical` and, at the end, `Complete`."""

    sent: Sent


class Call(msgspec.Struct, frozen=True):
    """Call a function of this worker and more: answered by `Returned`."""

    tenant: str
    work: Callable[..., Any]
    args: tuple[Any, ...]


class Encode(msgspec.Struct, frozen=True):
    """Encode tools, given in JSON: answered by `Returned` with their vectors."""

    tenant: str
    wires: Sequence[bytes]


class EncodeQuery(msgspec.Struct, frozen=True):
    """Encode a query: answered by `Returned` with its vector, or None before that can be done."""

    tenant: str
    text: str


class Listing(msgspec.Struct, frozen=True):
    """What is known of a list as soon as it is read."""

    digest: str
    offered: int
    unnamed: int
    unique: int


class Lexical(msgspec.Struct, frozen=True):
    """A catalog that answers by words."""

    packed: Packed


class Complete(msgspec.Struct, frozen=True):
    """What completes it, and the milliseconds that each tool took."""

    vectors: tuple[Floats, NameVectors] | None
    spent: float


class Returned(msgspec.Struct, frozen=True):
    """What a call returned."""

    value: Any


class Failed(msgspec.Struct, frozen=True):
    """What a call, a list or a compile failed by."""

    error: Exception
