"""Addresses: which only this machine can reach, and sockets that listen at one."""

import os
import socket
from ipaddress import ip_address

_LOOPBACK_NETWORK = 127
MAX_PORT = 65_535


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


def listen(host: str, port: int, otherwise: str = "") -> socket.socket:
    """Return a socket that listens.

    `otherwise` says in the error how to choose another address.

    Raises:
        OSError: the address cannot be used; says which and why, in a line.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    why: str | None = "a port is at most 65535"
    try:
        if port <= MAX_PORT:
            return socket.create_server((host, port), family=family)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
    hint = f"; {otherwise}" if otherwise else ""
    raise OSError(f"cannot listen at {host}:{port}: {why}{hint}")


def write_host(host: str) -> str:
    """Return a host as URLs have it: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host
