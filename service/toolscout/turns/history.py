"""Put the searches of earlier turns back into a conversation, where they were made.

The caller never sees a search, so its next request lacks the messages that the model saw. Sent
like that, the conversation would no longer begin with the bytes of the request before: the
provider's cache would be lost, and with it the tools that the results of searches have loaded. So
what a turn added is stored under a hash of the messages before it and of the answer after it. Two
conversations that begin alike share nothing from their first different answer on.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from toolscout.turns.providers.calls import is_of_model, mark_of, read_messages, read_words
from toolscout.turns.providers.fields import Json, as_dict, mapping
from toolscout.turns.providers.thoughts import (
    drop_thoughts,
    find_marks,
    is_thought,
    leads_to_words,
    read_marks,
)
from toolscout.turns.session import Added, SessionStore, normalise

PROMPT_KEYS = (
    "model",
    "system",
    "instructions",
    "prompt",
    "systemInstruction",
    "system_instruction",
)
"""Keys of a request beside its messages that the model reads."""


class History:
    """The messages of one request, and what was added after some of them.

    Args:
        messages: as the caller sent them.
        store: holds what was added to all conversations.
        session: the conversation by its first message; empty when it is unknown.
        seed: the conversation, the form of its requests and what they say beside messages, none of
            which ever mix; empty when it is unknown, and nothing is put back.
        add_words: puts words behind a message.
    """

    def __init__(
        self,
        messages: Sequence[Any],
        store: SessionStore,
        session: str,
        seed: bytes,
        add_words: Callable[[Json, str], Json],
    ) -> None:
        self._add_words = add_words
        self._session = session
        self._store = store
        self._key = b""
        self.searches: list[Any] = []
        """All messages and words that were put back."""
        self.whole: list[Any] = []
        """The messages with those put back."""
        self.names: list[str] = []
        """The tools that the turns have brought, oldest first."""
        self.is_known = bool(seed)
        """Whether `names` are all: nothing was answered yet, or the last answer was given here."""
        key = sha256(seed).digest() if seed else b""
        read = [as_dict(message) for message in messages]
        are_of_model = [is_of_model(message) for message in read]
        are_of_model.append(False)
        self.is_changed = False
        """Whether `whole` is not what the caller sent."""
        self._thoughts = set[str]()
        """The marks of those in what was put back before the answer that is read."""
        for number, message in enumerate(messages):
            after = number + 1
            if not are_of_model[number]:
                self._thoughts = set()
            self._add(message, read[number], next(iter(read[after : after + 1]), None))
            key = _hash_next(key, read[number])
            self._key = key
            if are_of_model[after] and not are_of_model[number]:
                end = are_of_model.index(False, after)
                marks = map(mark_of, read[after:end])
                mark = next(filter(None, marks), "")
                self._put_back(key, mark)
        self._own = len(self.whole)

    def _add(self, message: Any, read: Json | None, following: Json | None) -> None:
        """Add a message of the caller, without what the model thought before a search."""
        seen = message
        if read is not None and is_thought(read):
            if self._is_hidden(read) and not leads_to_words(following):
                self.is_changed = True
                return
        elif read is not None and self._thoughts:
            dropped = drop_thoughts(read, self._thoughts)
            if dropped is not read:
                self.is_changed = True
                seen = dropped
        self.whole.append(seen)

    def _is_hidden(self, item: Json) -> bool:
        """Whether an item of Responses is a thought before a search of this conversation."""
        marks = read_marks(item)
        return not marks.isdisjoint(self._thoughts) or self._store.has_hidden(self._session, marks)

    def _put_back(self, key: bytes, mark: str) -> None:
        """Add what a turn has added after the messages so far, before an answer with this mark."""
        added = None
        if key and mark:
            place = _place_of(key, mark)
            added = self._store.added(place)
        self.is_known = added is not None
        if added is not None:
            if words := added.words:
                self.whole[-1] = self._add_words(mapping(self.whole[-1]), words)
                self.searches.append(words)
            self._thoughts = set(added.shown)
            self.whole += added.messages
            self.searches += added.messages
            self.is_changed = self.is_changed or bool(words or added.messages)
            self.names += added.names

    def forget(self) -> None:
        """Store nothing of this turn."""
        self._key = b""

    def keep(
        self,
        messages: Sequence[Any],
        words: str,
        names: Iterable[str],
        responses: Sequence[Json],
        streams: bool,
    ) -> None:
        """Store what a turn has added.

        Args:
            messages: all those of its last request.
            words: those it has put behind the last one of the caller.
            names: the tools that the model saw at its end.
            responses: all those of the model, as the client sees them, oldest first.
            streams: whether the client saw what the model thought before a search.
        """
        own = list(messages[self._own :])
        shown = [*find_marks(own)] if streams else []
        self._store.hide(self._session, shown)
        if not self._key:
            return
        answers = [message for response in responses for message in read_messages(response)]
        marks = {mark_of(answer) for answer in answers}
        # The client of a stream gets the texts of all responses as one.
        whole = "".join(map(read_words, answers))
        marks.add(whole)
        marks.discard("")
        new = [name for name in names if name not in self.names]
        added = Added(own, words, new, shown)
        for mark in marks:
            place = _place_of(self._key, mark)
            self._store.keep_added(place, added)


def seed_of(form: str, session: str, catalog: bytes, request: Mapping[str, Any]) -> bytes:
    """Return what tells a conversation from all others that begin with the same messages.

    Empty where the conversation or the form is unknown, so that nothing is put back. With another
    catalog the prompt begins with other bytes, and results of searches would name tools that are
    not there.
    """
    if not form or not session:
        return b""
    fields = {key: request[key] for key in PROMPT_KEYS if key in request}
    return _write_json([form, session, catalog, fields])


def _place_of(key: bytes, mark: str) -> bytes:
    """Return where to store what was added between some messages and an answer."""
    written = mark.encode("utf-8", "replace")
    return sha256(key + written).digest()


def _hash_next(before: bytes, message: Json | None) -> bytes:
    """Return the hash of the messages up to this one; empty from one on that is no JSON."""
    if not before or message is None:
        return b""
    written = _write_json(normalise(message))
    return sha256(before + written).digest() if written else b""


def _write_json(value: Any) -> bytes:
    """Return a value as JSON; empty if it cannot be encoded."""
    try:
        return msgspec.json.encode(value, order="sorted")
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return b""
