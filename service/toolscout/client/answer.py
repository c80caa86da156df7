"""Read an answer: the names in it that were offered."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from toolscout.errors import NOT_JSON


class AnswerError(ValueError):
    """The answer is not usable; the message says why, without repeating any of it."""


def read_names(body: bytes) -> list[str]:
    """Return the names of an answer, in either contract; missing and null are an empty list.

    Keys count in any case, as they do for the proxies.

    Raises:
        AnswerError: it is not JSON, not an object, names are not texts, or it says it failed.
    """
    try:
        decoded = msgspec.json.decode(body)
    except NOT_JSON:
        raise AnswerError("answer is not JSON" if body else "answer is empty") from None
    if not isinstance(decoded, dict):
        raise AnswerError("answer is not an object")
    fields = {key.lower(): value for key, value in decoded.items()}
    if fields.get("success") is False:
        raise AnswerError("answer says it failed")
    names: Any = fields.get("selected_names")
    data = fields.get("data")
    if names is None and isinstance(data, dict):
        names = data.get("relevant_tools")
    if names is None:
        return []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise AnswerError("selected_names is not a list of texts")
    return names


def choose_usable(
    names: Iterable[str], offered: Mapping[str, Any], top_k: int, always_keep: Sequence[str]
) -> list[str]:
    """Return known names, each once, at most `top_k`, in the order of the answer.

    Missing pins are added at the end, but never replace the first match. Without a known name the
    list is empty.
    """
    chosen = [name for name in dict.fromkeys(names) if name in offered]
    if not chosen:
        return []
    pins = [name for name in dict.fromkeys(always_keep) if name in offered][: top_k - 1]
    kept = set(pins)
    for name in chosen:
        if len(kept) >= top_k:
            break
        kept.add(name)
    ordered = [name for name in chosen if name in kept]
    return ordered + [pin for pin in pins if pin not in ordered]


def read_selection_header(value: str) -> dict[str, str]:
    """Return the parts of `X-Tool-Selection: 258->5; ranker=hybrid; outcome=match; degraded=no`."""
    pairs = (part.partition("=") for part in value.split(";"))
    return {key.strip().lower(): text.strip() for key, _, text in pairs if text}
