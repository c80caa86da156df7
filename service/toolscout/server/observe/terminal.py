"""Log lines as a person reads them: on a terminal they stand in place of the JSON.

12:30:05 search 200 match (hybrid, 2 of 40 tools, 3.1 ms) 5d0c9e1fb7a6c2e4
12:30:06 search 200 match: read_file (hybrid, 1 of 40 tools, 2.9 ms) "read it" 0b1c…
12:30:07 WARNING keys_kept reason=…
"""

from typing import Any

import msgspec

_HEAD = ("time", "level", "event")
_CLOCK = slice(11, 19)
"""Where the time of day stands in a time of RFC 3339."""


def readable(line: bytes) -> bytes:
    """Return a line of the log, given as JSON, as text; what is no such line stays as it is."""
    try:
        fields = msgspec.json.decode(line)
        time, level, event = (fields[key] for key in _HEAD)
        head = [time[_CLOCK], *([] if level == "info" else [level.upper()]), event]
        trace = fields.pop("exception", "").splitlines()
        rest = {key: value for key, value in fields.items() if key not in _HEAD}
        words = _request(rest) if "outcome" in rest else _pairs(rest)
        return "\n".join(map(_plain, [" ".join([*head, *words]), *trace])).encode()
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError):
        return line


def _request(fields: dict[str, Any]) -> list[str]:
    """Say what a request came to and how long it took, and in a full log what for."""
    details = [fields["ranker"]] if "ranker" in fields else []
    if "offered" in fields:
        details.append(f"{fields.get('selected', 0)} of {fields['offered']} tools")
    details.append(f"{fields['total_ms']:.1f} ms")
    if fields.get("degraded", "no") != "no":
        details.append(f"degraded: {fields['degraded']}")
    names = ", ".join(fields.get("selected_names", ()))
    outcome = f"{fields['outcome']}: {names}" if names else fields["outcome"]
    pattern = [f'"{fields["pattern"]}"'] if "pattern" in fields else []
    said = [str(fields["status"]), outcome, f"({', '.join(details)})"]
    return [*said, *pattern, fields["request_id"]]


def _pairs(fields: dict[str, Any]) -> list[str]:
    return [f"{key}={value}" for key, value in fields.items()]


def _plain(text: str) -> str:
    """Write control characters out, which a terminal would obey."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )
