"""Which keys and which certificate have expired or end soon."""

from datetime import UTC, datetime

from toolscout.server.http.auth import Keyring
from toolscout.serving import tls


def find_expiring(
    keyring: Keyring, certificate: str | None, tenant: str | None = None
) -> list[str]:
    """Return what has expired or ends soon, as lines; no secret is named.

    Args:
        keyring: the keys; each is told by its position.
        certificate: the path of the certificate in use.
        tenant: whose keys alone are told; all unless given.
    """
    dates = [
        (f"key {number} of {key.tenant}", key.expires)
        for number, key in enumerate(keyring.keys, 1)
        if tenant in (None, key.tenant)
    ]
    if certificate:
        dates.append((f"certificate {certificate}", tls.read_end(certificate)))
    now = datetime.now(UTC)
    return [
        f"{what} {'expired' if date <= now else 'ends'} at {date}"
        for what, date in dates
        if date is not None and tls.is_ending_soon(date)
    ]
