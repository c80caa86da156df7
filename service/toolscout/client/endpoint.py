"""Where requests go: the configured endpoint, read as the proxies read it."""

import re
from ipaddress import ip_address

import httpx2

from toolscout.client.log import logger
from toolscout.errors import InvalidArgument

SEARCH_PATH = "/v1/tool-discovery/search"
FEEDBACK_PATH = "/v1/tool-discovery/feedback"
_OTHER_SEARCH_PATH = "/api/compress/tool-discovery"
MAX_HOST_CHARS = 253

_LABEL = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}\.?")

_PLACEHOLDER = re.compile(r"<[a-z][\w .-]{0,40}>|\{\{[\w .-]{1,40}\}\}", re.IGNORECASE)
"""What a sample of a configuration has in place of a value: `https://<backend>/…`."""


def read(endpoint: str | None) -> httpx2.URL | None:
    """Read the full URL; None when the endpoint is missing.

    An endpoint without a path gets the search path. A user and password in it are left out, with a
    warning: they would take the place of the key.

    Raises:
        InvalidArgument: it is no http(s) URL; the message does not repeat it, as it may be a key.
    """
    text = (endpoint or "").strip()
    if not text:
        return None
    if placeholder := find_placeholder(text):
        raise InvalidArgument(
            f"endpoint: replace {placeholder} by the address of the service, as in "
            "http://127.0.0.1:8080"
        )
    url = _parse(text)
    if url is None:
        raise InvalidArgument("endpoint: expected an http:// or https:// URL")
    if url.userinfo:
        logger.warning("endpoint: its user and password are not sent; give an api_key instead")
        url = url.copy_with(username=None, password=None)
    return url.copy_with(path=SEARCH_PATH) if url.path in ("", "/") else url


def find_feedback_path(search_path: str) -> str | None:
    """Return the path of the feedback beside that of the search, below the same prefix.

    None for a path that is not one of the service's.
    """
    prefix = _find_prefix(search_path)
    return None if prefix is None else prefix + FEEDBACK_PATH


def find_ready_address(endpoint: str) -> httpx2.URL:
    """Return the address at which the service of an endpoint says whether it is ready."""
    url = httpx2.URL(endpoint)
    return url.copy_with(path=f"{_find_prefix(url.path) or ''}/readyz", query=None)


def _find_prefix(search_path: str) -> str | None:
    """Return what stands before the service's own path of searches; None for other paths."""
    path = search_path.rstrip("/")
    for own in (SEARCH_PATH, _OTHER_SEARCH_PATH):
        if path.endswith(own):
            return path.removesuffix(own)
    return None


def find_placeholder(text: str) -> str | None:
    """Return what a sample has in place of a value, such as `<backend>`; None if there is none."""
    match = _PLACEHOLDER.search(text)
    return None if match is None else match[0]


def is_web_address(text: str) -> bool:
    """Whether a text is the http(s) URL of a host."""
    return _parse(text) is not None


def hide_secrets(endpoint: str) -> str:
    """Return an endpoint as it may be shown: no user, no password, no query."""
    try:
        url = httpx2.URL(endpoint)
        return str(url.copy_with(username=None, password=None, query=None, fragment=None))
    except (httpx2.InvalidURL, ValueError, TypeError):
        return "(malformed)"


def _parse(text: str) -> httpx2.URL | None:
    """Return the URL, if it is one of an http(s) host."""
    try:
        url = httpx2.URL(text)
    except (httpx2.InvalidURL, ValueError, TypeError):
        return None
    if url.scheme not in ("http", "https") or not _is_host(url):
        return None
    return url if url.port is None or 0 < url.port < 65_536 else None


def _is_host(url: httpx2.URL) -> bool:
    host = url.raw_host.decode("ascii").lower()
    try:
        ip_address(host)
    except ValueError:
        return len(host) <= MAX_HOST_CHARS and _HOST.fullmatch(host) is not None
    return True
