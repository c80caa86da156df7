"""The playground at `/`: a page that shows what the rankers make of one's own tools, and why.

The page is a client like any other: it holds no state here, needs a key where others need one, and
speaks to nobody but this service. Its files lie in `static` and are served as they are.
"""

from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, NamedTuple

from litestar import Request, Response, get

from toolscout.server import entity_tags
from toolscout.server.exchange import Refused
from toolscout.server.loopback import is_loopback
from toolscout.settings import Settings

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # Asked about every time, and answered with 304: after an upgrade nobody sees the old page.
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
    """Whether these settings serve the page; `auto` does where only this machine can ask."""
    if settings.playground == "auto":
        return is_loopback(settings.host)
    on: bool = settings.playground == "on"
    return on


@cache
def static_files() -> dict[str, StaticFile]:
    """The files of the page by name, read once."""
    found: dict[str, StaticFile] = {}
    for entry in files(__name__).joinpath("static").iterdir():
        content = entry.read_bytes()
        media = _MEDIA[entry.name.rpartition(".")[2]]
        found[entry.name] = StaticFile(content, media, sha256(content).hexdigest()[:32])
    return found


@get("/", sync_to_thread=False)
def page(request: Request[Any, Any, Any]) -> Response[bytes]:
    """The page."""
    return _serve(request, "index.html")


@get("/playground/{name:str}", sync_to_thread=False)
def asset(request: Request[Any, Any, Any], name: str) -> Response[bytes]:
    """Its scripts, style sheet and sample catalogues."""
    if name not in static_files():
        raise Refused("not_found", "there is nothing at this path")
    return _serve(request, name)


HANDLERS = (page, asset)


def _serve(request: Request[Any, Any, Any], name: str) -> Response[bytes]:
    file = static_files()[name]
    headers = _HEADERS | {"ETag": f'"{file.digest}"'}
    known = request.headers.get("if-none-match", "").encode("latin-1", "replace")
    if entity_tags.names(known, file.digest):
        return Response(b"", status_code=304, headers=headers)
    return Response(file.content, media_type=file.media, headers=headers)
