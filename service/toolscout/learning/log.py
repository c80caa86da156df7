"""The observations and turns of each tenant in the state store, two logs that all processes read.

Patterns are stored as vectors, never as texts.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from secrets import token_hex
from time import perf_counter

import msgspec

from toolscout.experience.reported import DAY_S, Observation
from toolscout.experience.turns import TURNS as TURNS_KEPT
from toolscout.experience.turns import ReportedTurn
from toolscout.index.pattern_vectors import Floats, unpack
from toolscout.settings import LEARNING_DAYS
from toolscout.state.guarded import Guard
from toolscout.state.store import EPOCH, START, Entry, find_last_name, make_key

OBSERVATIONS = "learning"
"""The kind of key of a log of observations."""

TURNS = "learning-turns"
"""The kind of key of a log of turns."""

BEGINNING = Entry(START, b"")
"""What was read last where nothing was."""

KEPT_S = LEARNING_DAYS * DAY_S
"""How long observations are kept unless told otherwise."""

KEEP = 100_000
"""Maximum number of observations in a log."""

WRITE_S = 2.0
"""Time limit for writing observations; no search waits."""

READ_S = 5.0
"""Time limit for reading observations, and for removing them."""

PAGE = 500

_UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)
"""What decoding a damaged entry raises."""

Seen = tuple[Observation, Floats]
"""An observation and its vector."""

Report = Callable[[str], None]

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Observation).decode


class _TurnEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A turn in the store, by the digest of its identifier."""

    turn: str
    time: float
    catalog: str = ""
    vector: bytes = b""
    model: str = ""


_decode_turn = msgspec.json.Decoder(_TurnEntry).decode


def _read_time(
    entry: Entry, decode: Callable[[bytes], Observation | _TurnEntry] = _decode
) -> float:
    """Return when an observation was made, or a turn searched; 0 if the entry is damaged."""
    try:
        return decode(entry.value).time
    except _UNREADABLE:
        return 0.0


class Erasure(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which observations are to be removed: those with all subjects, or those before a time."""

    subjects: tuple[str, ...] = ()
    before: float | None = None

    def means(self, entry: Entry, *, damaged: bool = True) -> bool:
        """Whether an entry is to be removed; `damaged` is the answer for one nobody can use."""
        try:
            seen = _decode(entry.value)
        except _UNREADABLE:
            return damaged
        if self.before is not None:
            return seen.time < self.before
        return {*self.subjects} <= {*seen.subjects}


ALL = Erasure()
"""Everything of a tenant, its turns, too."""

_decode_erasure = msgspec.json.Decoder(Erasure).decode


def find_unfinished(epoch: bytes | None) -> Erasure | None:
    """Return what a process was removing when it began an epoch; None if that is done."""
    with suppress(*_UNREADABLE):
        return _decode_erasure((epoch or b"").partition(b" ")[2])
    return None


class Log:
    """The logs of all tenants.

    Args:
        guard: the store.
        model: names the model and layout of the vectors that this process makes.
    """

    def __init__(self, guard: Guard, model: str) -> None:
        self.model = model
        self._reading = guard.within(READ_S)
        self._writing = guard.within(WRITE_S)

    async def append(self, tenant: str, observations: Iterable[Observation]) -> None:
        """Write observations.

        Raises:
            StoreUnavailable: they could not be stored.
        """
        encoded = [_encode(seen) for seen in observations]
        await self._writing.append(make_key(OBSERVATIONS, tenant), encoded, KEEP)

    async def epoch(self, tenant: str) -> bytes | None:
        """Return what changes when the logs are dropped."""
        return await self._reading.get(make_key(EPOCH, tenant))

    async def drop(self, tenant: str) -> bytes:
        """Remove all entries of a tenant, and return the new epoch.

        Raises:
            StoreUnavailable: the store failed, and some or all entries may remain.
        """
        return await self.erase(tenant, ALL)

    async def _begin_epoch(self, tenant: str, erasing: bytes = b"") -> bytes:
        """Have all processes read the logs again, which have to be as they shall be read."""
        epoch = token_hex(8).encode() + erasing
        await self._writing.put(make_key(EPOCH, tenant), epoch)
        return epoch

    async def forget(self, tenant: str, erasure: "Erasure", *, is_known: bool) -> bytes | None:
        """Erase what is meant; return the new epoch, or None if nobody knows anything of it.

        Args:
            tenant: whose log.
            erasure: what is meant.
            is_known: whether this process has learned something of it.

        Raises:
            StoreUnavailable: some of it may remain, until this is called again.
        """
        begun = find_unfinished(await self.epoch(tenant))
        if begun is not None and begun != erasure:
            await self.finish(tenant, begun)
        if begun == erasure or is_known or await self.has(tenant, erasure):
            return await self.erase(tenant, erasure)
        return None

    async def erase(self, tenant: str, erasure: "Erasure") -> bytes:
        """Remove the observations that are meant; return the new epoch.

        The epoch says what is to be removed before anything is, so that whoever reads it later
        finishes what was begun; once that is done, the next one has all processes read anew.

        Raises:
            StoreUnavailable: some of them may remain, until `finish` is called or this again.
        """
        await self._begin_epoch(tenant, b" " + _encode(erasure))
        return await self.finish(tenant, erasure)

    async def finish(self, tenant: str, erasure: "Erasure") -> bytes:
        """Remove what an erasure means, and return the new epoch, with which it is over.

        Raises:
            StoreUnavailable: some of them may remain.
        """
        log = make_key(OBSERVATIONS, tenant)
        if erasure == ALL:
            for kind in (TURNS, OBSERVATIONS):
                await self._writing.drop(make_key(kind, tenant))
            return await self._begin_epoch(tenant)
        async for entries in self._read_pages(log):
            meant = [entry.position for entry in entries if erasure.means(entry)]
            if meant:
                await self._reading.remove(log, meant)
        return await self._begin_epoch(tenant)

    async def has(self, tenant: str, erasure: "Erasure") -> bool:
        """Return whether the log has an observation that is meant, damaged ones aside."""
        async for entries in self._read_pages(make_key(OBSERVATIONS, tenant)):
            if any(erasure.means(entry, damaged=False) for entry in entries):
                return True
        return False

    async def times(self, tenant: str) -> list[float]:
        """Return when each observation of a log was made."""
        pages = self._read_pages(make_key(OBSERVATIONS, tenant))
        return [_read_time(entry) async for entries in pages for entry in entries]

    async def now(self) -> float:
        """Return the store's time."""
        return await self._reading.now()

    async def find_oldest(self, tenant: str) -> float | None:
        """Return when the first observation of a log was made; None of an empty log."""
        entries = await self._read(make_key(OBSERVATIONS, tenant), START, 1)
        return _read_time(entries[0]) if entries else None

    async def forget_turns(self, tenant: str, before: float) -> None:
        """Remove the turns that were searched before a time.

        Raises:
            StoreUnavailable: some of them may remain.
        """

        def is_old(entry: Entry) -> bool:
            return _read_time(entry, _decode_turn) < before

        log = make_key(TURNS, tenant)
        while any(map(is_old, await self._read(log, START, 1))):  # the oldest come first
            old = [entry.position for entry in await self._read(log, START) if is_old(entry)]
            await self._reading.remove(log, old)

    async def tenants(self) -> list[str]:
        """Return the tenants that have turns or observations in the store.

        Raises:
            StoreUnavailable: they could not be read.
        """
        logs: list[str] = []
        for kind in (TURNS, OBSERVATIONS):
            logs += await self._reading.logs(f"{kind}/")
        return sorted(set(map(find_last_name, logs)))

    async def read(
        self, tenant: str, last: dict[str, Entry], report: Report
    ) -> tuple[list[Seen], int]:
        """Return further entries, none at the end, and how many were read.

        `last` has the last entries that were read, by log, and is updated.
        """
        log = make_key(OBSERVATIONS, tenant)
        entries = await self._read(log, last.get(OBSERVATIONS, BEGINNING).position)
        if entries:
            last[OBSERVATIONS] = entries[-1]
        read = [self._decoded(entry, report) for entry in entries]
        return [seen for seen in read if seen is not None], len(entries)

    def is_foreign(self, seen: Observation) -> bool:
        """Whether an observation has the vector of another model."""
        return seen.model != self.model

    async def append_turns(self, tenant: str, turns: Mapping[str, ReportedTurn]) -> None:
        """Write turns.

        Raises:
            StoreUnavailable: they could not be stored.
        """
        encoded = []
        slices = Slices()
        for name, turn in turns.items():
            vector = turn.pack()
            model = self.model if vector else ""
            entry = _TurnEntry(name, turn.time, turn.catalog, vector, model)
            encoded.append(_encode(entry))
            await slices.pause()
        await self._writing.append(make_key(TURNS, tenant), encoded, TURNS_KEPT)

    async def read_turns(self, tenant: str, last: dict[str, Entry]) -> dict[str, ReportedTurn]:
        """Return the turns that were written since the last call, those of this model.

        Raises:
            StoreUnavailable: they could not be read.
        """
        turns: dict[str, ReportedTurn] = {}
        log = make_key(TURNS, tenant)
        if TURNS in last and not await self._reading.has_entry(log, last[TURNS]):
            del last[TURNS]  # all are over, or the store is an older copy
        while entries := await self._read(log, last.get(TURNS, BEGINNING).position):
            last[TURNS] = entries[-1]
            for entry in entries:
                with suppress(*_UNREADABLE):
                    read = _decode_turn(entry.value)
                    if read.model == self.model and len(unpack(read.vector)):
                        turns[read.turn] = ReportedTurn(read.time, read.catalog, read.vector)
        return turns

    async def is_older(self, tenant: str, last: Mapping[str, Entry]) -> bool:
        """Return whether the observation that was read last is gone, as from a restored copy."""
        if OBSERVATIONS not in last:
            return False
        return not await self._reading.has_entry(make_key(OBSERVATIONS, tenant), last[OBSERVATIONS])

    async def _read_pages(self, log: str) -> AsyncIterator[list[Entry]]:
        position = START
        while entries := await self._read(log, position):
            position = entries[-1].position
            yield entries

    async def _read(self, log: str, position: str, limit: int = PAGE) -> list[Entry]:
        return await self._reading.read(log, position, limit)

    def _decoded(self, entry: Entry, report: Report) -> Seen | None:
        try:
            seen = _decode(entry.value)
            return seen, unpack(seen.vector)
        except _UNREADABLE as error:
            report(f"learning: an entry of the log was skipped: {error}")
            return None


SLICE_S = 0.005
"""Seconds of work after which the event loop gets a turn; one long pattern takes as long."""


class Slices:
    """Gives the event loop a turn after every slice of work."""

    def __init__(self) -> None:
        self._began = perf_counter()

    async def pause(self) -> None:
        """Pause if a slice is over."""
        if perf_counter() - self._began > SLICE_S:
            await asyncio.sleep(0)
            self._began = perf_counter()
