"""Unknown fields of a request: reported to the caller, refused where one is a misspelling.

A misspelt `filters` would let every tool through, and nobody would notice.
"""

import re
from collections.abc import Collection, Iterable, Sequence

import msgspec
from rapidfuzz.distance import OSA

from toolscout.errors import FieldError, InvalidRequest
from toolscout.server.http.problems import MAX_KEY_SHOWN

OTHERS = frozenset(("top_p",))
"""Fields of other interfaces that callers send along, and that are near one of ours."""

UNUSED = frozenset(("compression_model_name", "source"))
"""Fields of the newer contract that proxies send and nothing here needs: they are no mistake."""

MAX_SHOWN = 8
"""Fields that an answer names."""

SHORT = 4
"""Letters of a name up to which one wrong letter is a slip and two are another word."""

_keys = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_PLAIN = re.compile(r"[\w.-]{1,40}", re.ASCII)


def find_unknown_fields(body: bytes, ours: Collection[str]) -> tuple[str, ...]:
    """Return the unknown fields of a JSON object."""
    return tuple([name for name in _keys(body) if name not in ours])


def check_spelling(unknown: Sequence[str], ours: Iterable[str]) -> None:
    """Check that no unknown field is within two letters of one of ours, a short one within one.

    Raises:
        InvalidRequest: one is; the error names both.
    """
    errors = []
    for name in unknown:
        # Longer names are no slip, and comparing them would take long.
        near = (
            _find_nearest(name, ours) if name not in OTHERS and len(name) <= MAX_KEY_SHOWN else None
        )
        if near is not None:
            errors.append(FieldError(name, f"is not a field; did you mean {near}?"))
    if errors:
        first = errors[0]
        raise InvalidRequest(f"{first.path}: {first.message}", tuple(errors[:MAX_SHOWN]))


def show_fields(unknown: Sequence[str]) -> str:
    """Return fields by name for a header or a note; odd names, and too many, are counted."""
    plain = [name for name in unknown if _PLAIN.fullmatch(name)][:MAX_SHOWN]
    more = len(unknown) - len(plain)
    return ",".join([*plain, *([f"+{more}"] if more else [])])


def _find_nearest(name: str, ours: Iterable[str]) -> str | None:
    limit = 1 if len(name) <= SHORT else 2
    distance, near = min((OSA.distance(name.lower(), one, score_cutoff=limit), one) for one in ours)
    return near if distance <= limit else None
