"""Pages that need no network: the OpenAPI browser, the errors, the playground, and for models.

The browser at `/docs` reads `/openapi.json`. `/docs/errors` is made from the table of error codes;
the `type` of each problem links to it.
"""

import re
from collections.abc import Callable
from functools import cache, partial
from html import escape
from importlib.resources import files
from typing import Any

from litestar import Response, get

from toolscout import playground
from toolscout.server.calls.typed import IfNoneMatch, TypedRequest
from toolscout.server.compiling.work_threads import run_in_thread
from toolscout.server.http.answer import has_tag
from toolscout.server.http.problems import CODES, Code, Refused
from toolscout.server.openapi.document import write_json, write_yaml

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    f"img-src 'self' data:; connect-src 'self'; {playground.CLOSED}"
)
_ERRORS_POLICY = (
    f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; {playground.CLOSED}"
)
_PLAYGROUND = b'<a href="{up}">Playground</a>'
_CODE = re.compile(r"`([^`]+)`")


@cache
def _load(name: str) -> bytes:
    return files(__package__).joinpath(name).read_bytes()


_PAGES: dict[str, tuple[Callable[[], bytes], str, str]] = {
    "/openapi.json": (write_json, "application/json", ""),
    "/openapi.yaml": (lambda: write_yaml().encode(), "application/yaml", ""),
    "/llms.txt": (partial(_load, "llms.txt"), "text/plain", ""),
    "/docs": (partial(_load, "docs.html"), "text/html", _POLICY),
    "/docs/docs.js": (partial(_load, "docs.js"), "text/javascript", ""),
}
"""Pages by path: what makes them, their media type and content security policy."""


@get("/docs/errors", call="page", is_open=True)
async def show_errors(request: TypedRequest) -> Response[bytes]:
    """Explain every error code, each under its own anchor."""
    entries = "\n".join(map(_write_entry, CODES, CODES.values())).encode()
    page = _load("errors.html").replace(b"{entries}", entries)
    back = _PLAYGROUND if playground.is_on(request.service.settings) else b""
    page = page.replace(b"{playground}", back)
    return _make_page(_link(page, request), "text/html", _ERRORS_POLICY)


@get(list(_PAGES), call="page", is_open=True)
async def show_page(request: TypedRequest) -> Response[bytes]:
    """Return the document, its browser, or the summary for language models (llmstxt.org)."""
    path = request.head.path.rstrip("/")
    make, media, policy = _PAGES[path]
    # The document takes time when it is first made; what is a file needs no thread.
    content = await run_in_thread(make) if path.startswith("/openapi") else make()
    return _make_page(_link(content, request) if path == "/docs" else content, media, policy)


def _link(page: bytes, request: TypedRequest) -> bytes:
    """Return a page whose links hold below any path at which a proxy may show it."""
    depth = request.head.path.count("/") - 1
    return page.replace(b"{up}", b"../" * depth or b"./")


@get(["/", "/playground/{name:str}"], call="playground", is_open=True, sync_to_thread=False)
def show_file(request: TypedRequest, if_none_match: IfNoneMatch = None) -> Response[Any]:
    """Return the playground's page, or one of its scripts, style sheets and sample catalogs."""
    file = playground.load_static_files().get(request.path_params.get("name", "index.html"))
    if file is None:
        raise Refused("not_found", "there is nothing at this path")
    headers = {**playground.HEADERS, "etag": f'"{file.digest}"'}
    if if_none_match and has_tag(if_none_match, file.digest):
        return Response(None, headers=headers, status_code=304)
    return Response(file.content, headers=headers, media_type=file.media)


HANDLERS = (show_page, show_errors)
PLAYGROUND = (show_file,)


def _make_page(content: bytes, media: str, policy: str = "") -> Response[bytes]:
    headers = {"x-content-type-options": "nosniff"}
    if policy:
        headers["content-security-policy"] = policy
    return Response(content, headers=headers, media_type=media)


def _write_entry(code: str, kind: Code) -> str:
    retry = f" with <code>Retry-After: {kind.retry_after_s}</code>" if kind.retry_after_s else ""
    explained = _CODE.sub(r"<code>\1</code>", escape(kind.help))
    return (
        f'<section id="{code}">\n<h2><a href="#{code}"><code>{code}</code></a></h2>\n'
        f"<p>{kind.status}{retry}: {escape(kind.title)}.</p>\n<p>{explained}</p>\n</section>"
    )
