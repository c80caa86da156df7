"""Recognise addresses that only this machine can reach."""

import socket
from ipaddress import ip_address

_LOOPBACK_NETWORK = 127


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host, a name or an address in any notation.

    Names below `localhost` are reserved for this machine (RFC 6761).
    """
    host = host.lower().removesuffix(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        pass
    try:
        return socket.inet_aton(host)[0] == _LOOPBACK_NETWORK  # 127.1 is an address too
    except (OSError, ValueError):
        return False
