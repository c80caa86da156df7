"""What `toolscout serve` says when it is ready: where, how, and a call to try."""

from toolscout import __version__, playground
from toolscout.index.static_model import BUNDLED_MODEL
from toolscout.server.http.auth import Keyring
from toolscout.server.service import model_digest
from toolscout.settings import Settings

_EXAMPLE = (
    '{"pattern":"read a file","top_k":1,"tools":['
    '{"name":"read_file","description":"Read a text file from disk"},'
    '{"name":"send_email","description":"Send a message to an address"}]}'
)


def banner(settings: Settings) -> str:
    """A few lines for a person, on standard error."""
    keys = len(Keyring(settings.api_keys))
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    # Nobody can connect to "all addresses"; the example calls the loopback one.
    shown = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)  # noqa: S104
    model = settings.model or BUNDLED_MODEL
    scheme = "https" if settings.tls_cert else "http"
    url = f"{scheme}://{shown}:{settings.port}"
    key = " -H 'Authorization: Bearer YOUR_KEY'" if keys else ""
    trust = " --cacert CA.pem" if settings.tls_cert else ""
    if settings.tls_client_ca:
        trust += " --cert CLIENT.pem --key CLIENT.key"
    lines = [
        f"Toolscout {__version__} is ready at {scheme}://{host}:{settings.port}",
        f"  auth    {f'{keys} key(s)' if keys else 'off: anyone who reaches this address'}",
        f"  tls     {_tls(settings)}",
        f"  model   {settings.model or 'bundled'} ({model_digest(model)})",
        f"  limits  {settings.max_tools:,} tools, {_size(settings.max_body_bytes)}, "
        f"{settings.latency_budget_ms} ms budget",
        *_warnings(settings),
        *([f"  play    {url}/"] if playground.is_on(settings) else []),
        f"  docs    {url}/docs",
        f"  try     curl -s{trust} "
        f"{url}/v1/tool-discovery/search -H 'Content-Type: application/json'{key} -d '{_EXAMPLE}'",
    ]
    return "\n".join(lines) + "\n"


def _warnings(settings: Settings) -> list[str]:
    """What a person may not expect of these settings."""
    return [
        f"  warning key {key.name} of {key.tenant} expired at {key.expires}"
        for key in Keyring(settings.api_keys).keys
        if key.has_expired
    ]


def _size(nbytes: int) -> str:
    power, unit = (20, "MiB") if nbytes >= 1 << 20 else (10, "KiB")
    return f"{nbytes / (1 << power):,.4g} {unit}"


def _tls(settings: Settings) -> str:
    if not settings.tls_cert:
        return "off"
    return "on, callers need a certificate" if settings.tls_client_ca else "on"
