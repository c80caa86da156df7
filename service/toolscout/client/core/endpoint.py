"""Where requests go: the configured endpoint, read as the proxies read it."""

import httpx2

SEARCH_PATH = "/v1/tool-discovery/search"
_LOOPBACK = ("localhost", "127.", "::1")


def read(endpoint: str | None) -> httpx2.URL | None:
    """The full URL; None when the endpoint is missing or no http(s) URL.

    An endpoint without a path gets the search path.
    """
    if not endpoint or not endpoint.strip():
        return None
    try:
        url = httpx2.URL(endpoint.strip())
        if url.scheme not in ("http", "https") or not url.host:
            return None
        if url.port is not None and not 0 < url.port < 65_536:
            return None
        return url.copy_with(path=SEARCH_PATH) if url.path in ("", "/") else url
    except (httpx2.InvalidURL, ValueError, TypeError):
        return None


def is_loopback(url: httpx2.URL) -> bool:
    """Whether the endpoint is on this machine; proxies of the environment are not for it."""
    return url.host.startswith(_LOOPBACK)
