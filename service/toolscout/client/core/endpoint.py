"""Where requests go: the configured endpoint, read as the proxies read it."""

import logging
import re
import socket
from ipaddress import ip_address

import httpx2

SEARCH_PATH = "/v1/tool-discovery/search"
MAX_HOST_CHARS = 253

_LABEL = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}\.?")

logger = logging.getLogger("toolscout.client")


def read(endpoint: str | None) -> httpx2.URL | None:
    """The full URL; None when the endpoint is missing or no http(s) URL.

    An endpoint without a path gets the search path. A user and password in it are left out, with a
    warning: they would take the place of the key.
    """
    if not endpoint or not endpoint.strip():
        return None
    try:
        url = httpx2.URL(endpoint.strip())
        if url.scheme not in ("http", "https") or not _is_host(url):
            return None
        if url.port is not None and not 0 < url.port < 65_536:
            return None
        if url.userinfo:
            logger.warning("endpoint: its user and password are not sent; give an api_key instead")
            url = url.copy_with(username=None, password=None)
        return url.copy_with(path=SEARCH_PATH) if url.path in ("", "/") else url
    except (httpx2.InvalidURL, ValueError, TypeError):
        return None


def without_secrets(endpoint: str) -> str:
    """An endpoint as it may be shown: no user, no password, no query."""
    try:
        url = httpx2.URL(endpoint)
        return str(url.copy_with(username=None, password=None, query=None, fragment=None))
    except (httpx2.InvalidURL, ValueError, TypeError):
        return "(malformed)"


def is_loopback(url: httpx2.URL) -> bool:
    """Whether the endpoint is on this machine; proxies of the environment are not for it."""
    host = url.host.lower().removesuffix(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        pass
    try:
        return socket.inet_aton(host)[0] == 127  # 127.1 is an address too
    except (OSError, ValueError):
        return False


def _is_host(url: httpx2.URL) -> bool:
    host = url.raw_host.decode("ascii").lower()
    try:
        ip_address(host)
    except ValueError:
        return len(host) <= MAX_HOST_CHARS and _HOST.fullmatch(host) is not None
    return True
