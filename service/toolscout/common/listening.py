"""Sockets that servers listen on."""

import os
import socket


def listen(host: str, port: int, otherwise: str = "") -> socket.socket:
    """Return a socket that listens.

    `otherwise` says in the error how to choose another address.

    Raises:
        OSError: the address cannot be used; says which and why, in a line.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        why: str | None = "a port is at most 65535"
        if isinstance(error, OSError):
            why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        hint = f"; {otherwise}" if otherwise else ""
        raise OSError(f"cannot listen at {host}:{port}: {why}{hint}") from None
