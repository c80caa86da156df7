"""The playground's page and its files over HTTP."""

from typing import Any

from litestar import Request, Response, get

from toolscout import playground
from toolscout.server.http import etags
from toolscout.server.http.exchange import Refused


@get("/", sync_to_thread=False)
def page(request: Request[Any, Any, Any]) -> Response[bytes]:
    """The page."""
    return _serve(request, "index.html")


@get("/playground/{name:str}", sync_to_thread=False)
def asset(request: Request[Any, Any, Any], name: str) -> Response[bytes]:
    """Its scripts, style sheet and sample catalogs."""
    if name not in playground.static_files():
        raise Refused("not_found", "there is nothing at this path")
    return _serve(request, name)


HANDLERS = (page, asset)


def _serve(request: Request[Any, Any, Any], name: str) -> Response[bytes]:
    file = playground.static_files()[name]
    headers = playground.HEADERS | {"ETag": f'"{file.digest}"'}
    known = request.headers.get("if-none-match", "").encode("latin-1", "replace")
    if etags.names(known, file.digest):
        return Response(b"", status_code=304, headers=headers)
    return Response(file.content, media_type=file.media, headers=headers)
