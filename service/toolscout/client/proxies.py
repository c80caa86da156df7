"""The HTTP proxies that the environment names, and which of them leads to a URL.

The variables are those of curl: `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in
capitals or not. On macOS and Windows the system's settings count where no variable is set.
"""

from importlib.util import find_spec
from ipaddress import ip_address, ip_network
from urllib.request import getproxies

import httpx2

DEFAULT_PORTS = {"http": 80, "https": 443}


class UnusableProxyError(ValueError):
    """The environment names a proxy that no connection can go through; the message says why."""


class EnvironmentProxies:
    """The proxies of the environment, as they are when this is made.

    Raises:
        UnusableProxyError: one of them is no address of a proxy.
    """

    def __init__(self) -> None:
        found = getproxies()
        self._proxies = {
            scheme: read_proxy(found[scheme])
            for scheme in ("http", "https", "all")
            if found.get(scheme)
        }
        entries = found.get("no", "").lower().split(",")
        self._exempt = [entry.strip() for entry in entries if entry.strip()]

    def all(self) -> list[httpx2.Proxy]:
        """Return every proxy that `find` may return."""
        return list(self._proxies.values())

    def find(self, url: httpx2.URL) -> httpx2.Proxy | None:
        """Return the proxy that leads to a URL; None for a direct connection."""
        proxy = self._proxies.get(url.scheme) or self._proxies.get("all")
        if proxy is None or any(_is_exempt(url, entry) for entry in self._exempt):
            return None
        return proxy


def read_proxy(address: str) -> httpx2.Proxy:
    """Read the address of a proxy, which is http where it names no scheme.

    Raises:
        UnusableProxyError: it is no such address, or SOCKS and the package for it is not installed.
    """
    try:
        proxy = httpx2.Proxy(address if "://" in address else f"http://{address}")
    except (ValueError, httpx2.InvalidURL):  # the address may hold a password
        raise UnusableProxyError("its address is malformed, or of an unknown scheme") from None
    if proxy.url.scheme.startswith("socks") and find_spec("socksio") is None:
        raise UnusableProxyError("a SOCKS proxy needs the package socksio")
    return proxy


def _is_exempt(url: httpx2.URL, entry: str) -> bool:
    """Return whether an entry of `NO_PROXY` names a host, with its subdomains, or its network."""
    if entry == "*":
        return True
    scheme, separator, rest = entry.rpartition("://")
    if separator and scheme not in (url.scheme, "all"):
        return False
    name, port = _split_port(rest)
    if port and port != (url.port or DEFAULT_PORTS.get(url.scheme)):
        return False
    return _is_within(url.host.lower(), name)


def _split_port(entry: str) -> tuple[str, int]:
    """Split an entry into its name and port, which is 0 where there is none."""
    name, _, port = entry.rpartition(":")
    is_ipv6 = ":" in name and not name.endswith("]")
    if name and port.isdigit() and not is_ipv6:
        return name.strip("[]"), int(port)
    return entry.strip("[]"), 0


def _is_within(host: str, name: str) -> bool:
    try:
        return ip_address(host) in ip_network(name, strict=False)
    except ValueError:
        pass  # one of them is a name
    domain = name.removeprefix("*")
    if domain.startswith("."):
        return host.endswith(domain)
    return host == domain or host.endswith(f".{domain}")
