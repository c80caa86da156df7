"""Authentication by API keys, which are stored as hashes and belong to tenants."""

import hmac
import re
from collections.abc import Iterable
from hashlib import sha256

from toolscout.errors import ConfigurationError

MIN_KEY_CHARS = 32
ANONYMOUS = "anonymous"

_COMMENT = re.compile(r"(^|[\s,])#.*")


class Keyring:
    """The configured keys. Without any, all callers are one anonymous tenant."""

    def __init__(self, keys: str | None) -> None:
        """Parse comma-separated `key` or `tenant=key`; a bare key is a separate tenant.

        Raises:
            ConfigurationError: a key is too short; names its position, never its value.
        """
        self._tenants: list[tuple[bytes, str]] = []
        for number, entry in enumerate(_entries(keys or ""), 1):
            tenant, key = _parted(entry)
            if len(key) < MIN_KEY_CHARS:
                raise ConfigurationError(
                    f"api_keys: key {number} has {len(key)} characters; "
                    f"at least {MIN_KEY_CHARS} are needed"
                )
            hashed = sha256(key.encode()).digest()
            self._tenants.append((hashed, tenant or "key-" + hashed.hex()[:12]))
        self.is_shared = len({tenant for _, tenant in self._tenants}) > 1
        """Whether more than one tenant may call."""

    def __len__(self) -> int:
        return len(self._tenants)

    @property
    def tenants(self) -> list[str]:
        """Return all tenants."""
        return list(dict.fromkeys(tenant for _, tenant in self._tenants)) or [ANONYMOUS]

    def tenant(self, headers: Iterable[tuple[bytes, bytes]]) -> str | None:
        """Return the tenant of a request, or None without a valid key.

        The key may be in `Authorization: Bearer` or `X-API-Key`, or in both. Two different keys are
        refused, because either could be meant. All known keys are compared in constant time.
        """
        if not self._tenants:
            return ANONYMOUS
        presented = _presented(headers)
        if len(presented) != 1:
            return None
        hashed = sha256(presented.pop()).digest()
        found: str | None = None
        for known, tenant in self._tenants:
            if hmac.compare_digest(known, hashed):
                found = tenant
        return found


def _presented(headers: Iterable[tuple[bytes, bytes]]) -> set[bytes]:
    """Collect the different keys that a request shows."""
    found = set()
    for name, value in headers:
        if name == b"x-api-key":
            found.add(value.strip())
        elif name == b"authorization" and value[:7].lower() == b"bearer ":
            found.add(value[7:].strip())
    return found - {b""}


def _entries(keys: str) -> list[str]:
    """Split the text of a setting or a file; a `#` after a blank or comma begins a comment."""
    lines = [_COMMENT.sub("", line) for line in keys.removeprefix("\ufeff").splitlines()]
    return [entry.strip() for entry in ",".join(lines).split(",") if entry.strip()]


def _parted(entry: str) -> tuple[str, str]:
    """Return tenant and key of `acme=KEY`; base64 padding of a bare key is no separator."""
    tenant, separator, key = entry.partition("=")
    if separator and (key.strip("=") or len(tenant) < MIN_KEY_CHARS):
        return tenant.strip(), key.strip()
    return "", entry
