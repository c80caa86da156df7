"""How hosts write as which client of OAuth a server is asked."""

from collections.abc import Callable, Mapping
from typing import Any

FIELDS = {
    name: field
    for field, names in {
        "client_id": ("client_id", "clientId", "CLIENT_ID"),
        "client_secret": ("client_secret", "clientSecret", "CLIENT_SECRET"),
        "scopes": ("scopes", "scope"),
        "callback_port": ("callback_port", "callbackPort"),
    }.items()
    for name in names
}
"""The fields of a client of OAuth, by their names here and in hosts."""


def _read_auth(value: Any) -> dict[str, Any] | None:
    """Return the fields of a client of OAuth, none of one that registers itself."""
    if value == "oauth":
        return {}
    if not isinstance(value, dict):
        return None
    fields = {
        FIELDS[key]: text for key, text in value.items() if key in FIELDS and text not in (None, "")
    }
    if isinstance(fields.get("scopes"), str):
        fields["scopes"] = fields["scopes"].split()
    return fields or None


def _read_client(value: Any) -> dict[str, Any] | None:
    """Return the fields of a client that has an id: where a host has none, it asks by itself."""
    fields = _read_auth(value) or {}
    return fields if "client_id" in fields else None


READERS: Mapping[str, Callable[[Any], dict[str, Any] | None]] = {
    "auth": _read_auth,
    "oauth": _read_client,
}
"""Keys of a server, and what returns their fields: ours, which is Cursor's, and most hosts'."""
