"""Put the searches of earlier turns back into a conversation, where they were made.

The caller never sees a search, so its next request lacks the messages that the model saw. Sent
like that, the conversation would no longer begin with the bytes of the request before: the
provider's cache would be lost, and with it the tools that the results of searches have loaded. So
what a turn added is stored under a hash of the messages before it and of the answer after it. Two
conversations that begin alike share nothing from their first different answer on.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from toolscout.discovery.providers.calls import is_of_model, mark_of, messages_of, words_of
from toolscout.discovery.providers.fields import Json, as_dict
from toolscout.discovery.session import Added, SessionStore, canonical

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
        seed: the conversation, the form of its requests and what they say beside messages, none of
            which ever mix; empty when it is unknown, and nothing is put back.
    """

    def __init__(self, messages: Sequence[Any], store: SessionStore, seed: bytes) -> None:
        self._store = store
        self._key = b""
        self.searches: list[Any] = []
        """All messages that were put back."""
        self.whole: list[Any] = []
        """The messages with those put back."""
        self.names: list[str] = []
        """The tools that the turns have brought, oldest first."""
        self.is_known = bool(seed)
        """Whether `names` are all: nothing was answered yet, or the last answer was given here."""
        key = sha256(seed).digest() if seed else b""
        read = [as_dict(message) for message in messages]
        are_of_model = [*map(is_of_model, read), False]
        for number, message in enumerate(messages):
            self.whole.append(message)
            key = self._key = _next_key(key, read[number])
            if are_of_model[number + 1] and not are_of_model[number]:
                end = are_of_model.index(False, number + 1)
                marks = map(mark_of, read[number + 1 : end])
                self._put_back(key, next(filter(None, marks), ""))
        self._own = len(self.whole)

    def _put_back(self, key: bytes, mark: str) -> None:
        """Add what a turn has added after the messages so far, before an answer with this mark."""
        added = self._store.added(_place(key, mark)) if key and mark else None
        self.is_known = added is not None
        if added is not None:
            self.whole += added.messages
            self.searches += added.messages
            self.names += added.names

    def forget(self) -> None:
        """Store nothing of this turn."""
        self._key = b""

    def keep(
        self, messages: Sequence[Any], names: Iterable[str], responses: Sequence[Json]
    ) -> None:
        """Store what a turn has added.

        Args:
            messages: all those of its last request.
            names: the tools that the model saw at its end.
            responses: all those of the model, as the client sees them, oldest first.
        """
        if not self._key:
            return
        answers = [message for response in responses for message in messages_of(response)]
        # The client of a stream gets the texts of all responses as one.
        marks = {*map(mark_of, answers), "".join(map(words_of, answers))}
        new = [name for name in names if name not in self.names]
        added = Added(list(messages[self._own :]), new)
        for mark in marks - {""}:
            self._store.keep_added(_place(self._key, mark), added)


def seed_of(form: str, session: str, catalog: bytes, request: Mapping[str, Any]) -> bytes:
    """Return what tells a conversation from all others that begin with the same messages.

    Empty where the conversation or the form is unknown, so that nothing is put back. With another
    catalog the prompt begins with other bytes, and results of searches would name tools that are
    not there.
    """
    fields = {key: request[key] for key in PROMPT_KEYS if key in request}
    return b"" if not form or not session else _json([form, session, catalog, fields])


def _place(key: bytes, mark: str) -> bytes:
    """Return where to store what was added between some messages and an answer."""
    return sha256(key + mark.encode("utf-8", "replace")).digest()


def _next_key(before: bytes, message: Json | None) -> bytes:
    """Return the hash of the messages up to this one; empty from one on that is no JSON."""
    written = _json(canonical(message)) if before and message is not None else b""
    return sha256(before + written).digest() if written else b""


def _json(value: Any) -> bytes:
    """Return a value as JSON; empty if it is none."""
    try:
        return msgspec.json.encode(value, order="sorted")
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return b""
