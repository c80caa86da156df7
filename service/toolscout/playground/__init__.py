"""The playground at `/`: a page that shows how the rankers rank one's own tools, and why.

The page is a client like any other: it stores nothing in the service, needs a key where others need
one, and calls only this service. Its files are in `static` and are served as they are, but for the
version in the page.
"""

from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

from toolscout import __version__
from toolscout.common.addresses import is_loopback
from toolscout.settings import Settings

CLOSED = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""What a content security policy of any page here forbids."""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        f"img-src 'self' data:; {CLOSED}"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # Revalidated every time (304), so that nobody sees an old page after an upgrade.
    "Cache-Control": "no-cache",
}
_MEDIA = {
    "css": "text/css",
    "html": "text/html",
    "js": "text/javascript",
    "json": "application/json",
    "svg": "image/svg+xml",
}


class StaticFile(NamedTuple):
    """A file of the page, and the digest of its content."""

    content: bytes
    media: str
    digest: str


def is_on(settings: Settings) -> bool:
    """Whether these settings serve the page; `auto` serves it on loopback addresses."""
    if settings.playground == "auto":
        return is_loopback(settings.host)
    return bool(settings.playground == "on")


@cache
def load_static_files() -> dict[str, StaticFile]:
    """Return the files of the page by name, read once."""
    by_name: dict[str, StaticFile] = {}
    for entry in files(__name__).joinpath("static").iterdir():
        content = entry.read_bytes().replace(b"%VERSION%", __version__.encode())
        media = _MEDIA[entry.name.rpartition(".")[2]]
        by_name[entry.name] = StaticFile(content, media, sha256(content).hexdigest()[:32])
    return by_name
