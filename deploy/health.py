"""Say by the exit status whether the service in this container is ready: the image's HEALTHCHECK.

It asks by HTTP and then by TLS, so that it holds whichever is served. The certificate is for other
names than the loopback address, so it is not verified.
"""

import os
import ssl
import sys
from http.client import HTTPConnection, HTTPException, HTTPSConnection

HOST = "127.0.0.1"
PORT = int(os.environ.get("TOOLSCOUT_PORT", "8080"))
TIMEOUT_S = 1
UNVERIFIED = ssl._create_unverified_context()


def is_ready(connection: HTTPConnection) -> bool:
    """Whether the service answers that it is ready.

    Raises:
        OSError: nobody listens, or not for this protocol.
        HTTPException: the answer is no HTTP.
    """
    connection.request("GET", "/readyz")
    return connection.getresponse().status == 200


def is_ready_by_tls(connection: HTTPConnection) -> bool:
    """Whether it answers by TLS that it is ready, or hangs up on who has no certificate.

    That is how mutual TLS ends for this check, after a handshake of which only a service that
    runs is capable.

    Raises:
        OSError: nobody listens, or not for TLS.
    """
    connection.connect()
    try:
        return is_ready(connection)
    except TimeoutError:
        return False
    except (OSError, HTTPException):
        return True


def main() -> int:
    """Ask by each protocol until one is spoken; returns the exit status."""
    secured = HTTPSConnection(HOST, PORT, timeout=TIMEOUT_S, context=UNVERIFIED)
    try:
        return 0 if is_ready(HTTPConnection(HOST, PORT, timeout=TIMEOUT_S)) else 1
    except (OSError, HTTPException) as error:
        print(f"by HTTP: {error}", file=sys.stderr)
    try:
        return 0 if is_ready_by_tls(secured) else 1
    except OSError as error:
        print(f"by TLS: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
