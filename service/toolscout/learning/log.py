"""The observations of each tenant in the state store, in two logs that every process reads.

One log holds patterns as vectors, the other as texts. Without `learning_text` nothing is written to
the log of texts, and what an older release or another setting left there is moved to the log of
vectors. A move is one transaction of the store, so any number of processes may work on it, and an
entry is always in exactly one log.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from secrets import token_hex

import msgspec
from msgspec.structs import replace

from toolscout.learning.experience import Observation
from toolscout.learning.patterns import Floats, unpack
from toolscout.learning.slices import Slices
from toolscout.learning.turns import TURNS as TURNS_KEPT
from toolscout.learning.turns import Turn
from toolscout.state.guarded import Guard
from toolscout.state.keys import key, last_name
from toolscout.state.store import START, Entry

TEXTS, VECTORS, EPOCH = "learning", "learning-vectors", "learning-epoch"
TURNS, TURN_TEXTS = "learning-turns", "learning-turn-texts"
"""Kinds of keys."""

KEEP = 100_000
"""Maximum number of observations in a log."""

WRITE_S, READ_S = 2.0, 5.0
"""Time limits for writing and reading observations; no search waits for either."""

PAGE = 500

_UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)
"""What decoding a damaged entry raises."""

Seen = tuple[Observation, Floats | None]
"""An observation and its vector, which is None where the text has to be embedded."""

Report = Callable[[str], None]

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Observation).decode


class _TurnEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A turn in the store, by the digest of its identifier."""

    turn: str
    time: float
    catalog: str = ""
    pattern: str = ""
    vector: bytes = b""
    model: str = ""
    gains: dict[str, float] = {}


_decode_turn = msgspec.json.Decoder(_TurnEntry).decode


def _searched(entry: Entry) -> float:
    """Return when the turn of an entry was searched; 0 if the entry is damaged."""
    try:
        return _decode_turn(entry.value).time
    except _UNREADABLE:
        return 0.0


class Log:
    """The logs of all tenants.

    Args:
        model: names the model and layout of the vectors that this process makes.
        keeps_text: whether patterns are written as texts.
        vector: makes the packed vector of a text.
    """

    def __init__(
        self, guard: Guard, model: str, keeps_text: bool, vector: Callable[[str], Awaitable[bytes]]
    ) -> None:
        self._guard = guard
        self._model = model
        self._keeps_text = keeps_text
        self._vector = vector
        self._kinds = (VECTORS, TEXTS) if keeps_text else (VECTORS,)
        self._turns = TURN_TEXTS if keeps_text else TURNS

    async def append(self, tenant: str, observations: Iterable[Observation]) -> None:
        """Write observations.

        Raises:
            StoreUnavailable: they could not be stored.
        """
        store = self._guard.store
        values: dict[str, list[bytes]] = {TEXTS: [], VECTORS: []}
        for seen in observations:
            if seen.pattern:
                values[TEXTS].append(_encode(replace(seen, vector=b"", model="")))
            else:
                values[VECTORS].append(_encode(seen))
        for kind, encoded in values.items():
            if encoded:
                append = store.append(key(kind, tenant), encoded, KEEP)
                await self._guard.run("append", append, WRITE_S)

    async def epoch(self, tenant: str) -> bytes | None:
        """Return what changes when the logs are dropped."""
        return await self._guard.run("get", self._guard.store.get(key(EPOCH, tenant)), READ_S)

    async def drop(self, tenant: str) -> bytes:
        """Remove all entries of a tenant, and return the new epoch.

        Raises:
            StoreUnavailable: the store failed, and some or all entries may remain.
        """
        store, epoch = self._guard.store, token_hex(8).encode()
        # Texts first: what is moved meanwhile is then dropped with the vectors. The epoch comes
        # last: processes that see it read the logs again, which must be empty.
        for kind in (TURN_TEXTS, TURNS, TEXTS, VECTORS):
            await self._guard.run("drop", store.drop(key(kind, tenant)), WRITE_S)
        await self._guard.run("put", store.put(key(EPOCH, tenant), epoch), WRITE_S)
        return epoch

    async def move_texts(self, tenant: str, report: Report) -> None:
        """Replace texts by vectors, unless texts are kept.

        Raises:
            StoreUnavailable: the texts that were not yet moved remain.
        """
        if self._keeps_text:
            return
        store, position, slices = self._guard.store, START, Slices()
        if await self._read(key(TURN_TEXTS, tenant), START):
            await self._guard.run("drop", store.drop(key(TURN_TEXTS, tenant)), WRITE_S)
        source, target = key(TEXTS, tenant), key(VECTORS, tenant)
        while entries := await self._read(source, position):
            position = entries[-1].position
            replaced = []
            for entry in entries:
                found = self._decoded(entry, report)
                # A damaged entry is removed as well: nobody can read it, but it may hold a text.
                value = b"" if found is None else await self._packed(found)
                replaced.append(entry._replace(value=value))
                await slices.pause()
            move = store.move(source, target, replaced, KEEP)
            await self._guard.run("move", move, READ_S)

    async def forget_turns(self, tenant: str, before: float) -> None:
        """Remove the turns that were searched before a time.

        Raises:
            StoreUnavailable: some of them may remain.
        """
        for kind in (TURN_TEXTS, TURNS):
            log = key(kind, tenant)
            # The oldest come first.
            while any(_searched(entry) < before for entry in await self._read(log, START, 1)):
                read = await self._read(log, START)
                old = [entry._replace(value=b"") for entry in read if _searched(entry) < before]
                move = self._guard.store.move(log, log, old, TURNS_KEPT)
                await self._guard.run("move", move, READ_S)

    async def tenants(self) -> list[str]:
        """Return the tenants that have texts or turns in the store.

        Raises:
            StoreUnavailable: they could not be read.
        """
        found: set[str] = set()
        for kind in (TEXTS, TURN_TEXTS, TURNS):
            listing = self._guard.store.logs(f"{kind}/")
            found |= set(map(last_name, await self._guard.run("logs", listing, READ_S)))
        return sorted(found)

    async def read(
        self, tenant: str, positions: dict[str, str], report: Report
    ) -> tuple[list[Seen], int]:
        """Return further entries, none at the end, and how many were read.

        `positions` are those of the last entries that were read, by log, and are updated.
        """
        for kind in self._kinds:
            entries = await self._read(key(kind, tenant), positions.get(kind, START))
            if entries:
                positions[kind] = entries[-1].position
                found = [self._decoded(entry, report) for entry in entries]
                return [seen for seen in found if seen is not None], len(entries)
        return [], 0

    def is_foreign(self, seen: Observation) -> bool:
        """Whether an observation has only a vector, and that of another model."""
        return bool(seen.vector) and not seen.pattern and seen.model != self._model

    async def append_turns(self, tenant: str, turns: Mapping[str, Turn]) -> None:
        """Write turns.

        Raises:
            StoreUnavailable: they could not be stored.
        """
        encoded, slices = [], Slices()
        for name, turn in turns.items():
            vector = turn.packed()
            model = self._model if vector else ""
            entry = _TurnEntry(name, turn.time, turn.catalog, turn.text, vector, model, turn.gains)
            encoded.append(_encode(entry))
            await slices.pause()
        append = self._guard.store.append(key(self._turns, tenant), encoded, TURNS_KEPT)
        await self._guard.run("append", append, WRITE_S)

    async def read_turns(self, tenant: str, positions: dict[str, str]) -> dict[str, Turn]:
        """Return the turns that were written since the last call, those of this model.

        Raises:
            StoreUnavailable: they could not be read.
        """
        found: dict[str, Turn] = {}
        log = key(self._turns, tenant)
        while entries := await self._read(log, positions.get(self._turns, START)):
            positions[self._turns] = entries[-1].position
            for entry in entries:
                with suppress(*_UNREADABLE):
                    read = _decode_turn(entry.value)
                    if read.pattern or (read.model == self._model and len(unpack(read.vector))):
                        found[read.turn] = Turn(
                            read.time, read.catalog, read.pattern, read.vector, read.gains
                        )
        return found

    async def _read(self, log: str, position: str, limit: int = PAGE) -> list[Entry]:
        reading = self._guard.store.read(log, position, limit)
        return await self._guard.run("read", reading, READ_S)

    def _decoded(self, entry: Entry, report: Report) -> Seen | None:
        try:
            seen = _decode(entry.value)
            return seen, unpack(seen.vector) if seen.vector else None
        except _UNREADABLE as error:
            report(f"learning: an entry of the log was passed over: {error}")
            return None

    async def _packed(self, found: Seen) -> bytes:
        vector = await self._vector(found[0].pattern)
        return _encode(replace(found[0], pattern="", vector=vector, model=self._model))
