"""Who is asking: API keys, kept as hashes, each belonging to a tenant."""

import hmac
from collections.abc import Iterable
from hashlib import sha256

from toolscout.errors import ConfigurationError

MIN_KEY_CHARS = 32
ANONYMOUS = "anonymous"


class Keyring:
    """The configured keys. Without any, every caller is the one anonymous tenant."""

    def __init__(self, keys: str | None) -> None:
        """Parse comma-separated `key` or `tenant=key`; a bare key is a tenant of its own.

        Raises:
            ConfigurationError: a key is too short; says which by position, never by value.
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
        """Everyone who may call."""
        return list(dict.fromkeys(tenant for _, tenant in self._tenants)) or [ANONYMOUS]

    def tenant(self, headers: Iterable[tuple[bytes, bytes]]) -> str | None:
        """The tenant of a request, or None when it has no valid key.

        The key may stand in `Authorization: Bearer` or `X-API-Key`. All keys are compared, in
        constant time each, whatever the outcome.
        """
        if not self._tenants:
            return ANONYMOUS
        found: str | None = None
        for name, value in headers:
            if name == b"x-api-key":
                presented = value
            elif name == b"authorization" and value[:7].lower() == b"bearer ":
                presented = value[7:]
            else:
                continue
            hashed = sha256(presented.strip()).digest()
            for known, tenant in self._tenants:
                if hmac.compare_digest(known, hashed):
                    found = tenant
        return found


def _entries(keys: str) -> list[str]:
    return [entry.strip() for entry in keys.replace("\n", ",").split(",") if entry.strip()]


def _parted(entry: str) -> tuple[str, str]:
    """Tenant and key of `acme=KEY`; base64 padding at the end of a bare key names no tenant."""
    tenant, separator, key = entry.partition("=")
    if separator and (key.strip("=") or len(tenant) < MIN_KEY_CHARS):
        return tenant.strip(), key.strip()
    return "", entry
