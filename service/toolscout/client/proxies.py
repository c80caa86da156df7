"""The HTTP proxies that the environment names, and which of them leads to a URL.

The variables are those of curl: `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in
capitals or not. On macOS and Windows the system's settings count where no variable is set.
"""

from importlib.util import find_spec
from ipaddress import ip_address, ip_network
from urllib.request import getproxies

import httpx2

from toolscout.common.addresses import MAX_PORT

DEFAULT_PORTS = {"http": 80, "https": 443}


class UnusableProxyError(ValueError):
    """The environment names a proxy that no connection can go through; the message says why."""


class EnvironmentProxies:
    """The proxies of the environment, as they are when this is made."""

    def __init__(self) -> None:
        found = getproxies()
        self._addresses = {scheme: found.get(scheme) for scheme in ("http", "https", "all")}
        entries = found.get("no", "").lower().split(",")
        self._exempt = [entry.strip() for entry in entries if entry.strip()]
        self._read: dict[str, httpx2.Proxy] = {}

    def find(self, url: httpx2.URL) -> httpx2.Proxy | None:
        """Return the proxy that leads to a URL, the same each time; None for a direct connection.

        Raises:
            UnusableProxyError: it is no address of a proxy.
        """
        scheme = url.scheme if self._addresses.get(url.scheme) else "all"
        address = self._addresses[scheme]
        if not address or any(_is_exempt(url, entry) for entry in self._exempt):
            return None
        if address not in self._read:
            self._read[address] = read_proxy(address, f"{scheme.upper()}_PROXY")
        return self._read[address]


def read_proxy(address: str, variable: str) -> httpx2.Proxy:
    """Read the address of a proxy, which is http where it names no scheme.

    Raises:
        UnusableProxyError: it is no such address, or SOCKS and the package for it is not installed.
    """
    wrong = f"the proxy variable {variable} is no address such as http://host:port"
    try:
        proxy = httpx2.Proxy(address if "://" in address else f"http://{address}")
    except (ValueError, httpx2.InvalidURL):  # the address may hold a password
        raise UnusableProxyError(wrong) from None
    if not proxy.url.host or not 0 < (proxy.url.port or 1) <= MAX_PORT:
        raise UnusableProxyError(wrong)
    if proxy.url.scheme.startswith("socks") and find_spec("socksio") is None:
        raise UnusableProxyError(f"the proxy variable {variable} needs the package socksio")
    return proxy


def _is_exempt(url: httpx2.URL, entry: str) -> bool:
    """Return whether an entry of `NO_PROXY` names a host, with its subdomains, or its network."""
    if entry == "*":
        return True
    scheme, separator, rest = entry.rpartition("://")
    if separator and scheme not in (url.scheme, "all"):
        return False
    name, port = _split_port(rest.rstrip("/"))
    if port and port != (url.port or DEFAULT_PORTS.get(url.scheme)):
        return False
    return _is_within(url.host.lower(), name)


def _split_port(entry: str) -> tuple[str, int]:
    """Split an entry into its name and port, which is 0 where there is none."""
    name, _, port = entry.rpartition(":")
    is_ipv6 = ":" in name and not name.endswith("]")
    if name and port.isdigit() and not is_ipv6:
        return _drop_brackets(name), int(port)
    return _drop_brackets(entry), 0


def _drop_brackets(name: str) -> str:
    """Return an address of IPv6, or a network of them, as it is without its brackets."""
    return name.replace("[", "").replace("]", "")


def _is_within(host: str, name: str) -> bool:
    try:
        return ip_address(host) in ip_network(name, strict=False)
    except ValueError:
        pass  # one of them is a name
    domain = name.removeprefix("*").removeprefix(".")
    return bool(domain) and (host == domain or host.endswith(f".{domain}"))
