"""Pages that need no network: the OpenAPI browser, the errors, the playground, and for models.

The browser at `/docs` reads `/openapi.json`. `/docs/errors` is made from the table of error codes;
the `type` of each problem links to it.
"""

import re
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from litestar import Response, get

from toolscout import playground
from toolscout.server.calls.typed import Call, IfNoneMatch
from toolscout.server.compiling.work_threads import run_in_thread
from toolscout.server.http.answer import HTML, JAVASCRIPT, JSON, NO_SNIFFING, names_tag
from toolscout.server.http.problems import CODES, Code, Refused
from toolscout.server.openapi.document import as_json, as_yaml

_CLOSED = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    f"img-src 'self' data:; connect-src 'self'; {_CLOSED}"
)
_ERRORS_POLICY = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; {_CLOSED}"
_FILES = {
    "/llms.txt": (__package__, "llms.txt", b"text/plain; charset=utf-8", ""),
    "/docs": (__package__, "docs.html", HTML, _POLICY),
    "/docs/docs.js": (__package__, "docs.js", JAVASCRIPT, ""),
}
"""Files by path: package, file, media type and content security policy."""

_PLAYGROUND = b'<a href="/">Playground</a>'
_CODE = re.compile(r"`([^`]+)`")


@get("/openapi.json", call="page", is_open=True)
async def show_document() -> Response[bytes]:
    """Return the OpenAPI document."""
    return _page(await run_in_thread(as_json), JSON)


@get("/openapi.yaml", call="page", is_open=True)
async def show_yaml() -> Response[bytes]:
    """Return the same as YAML."""
    return _page((await run_in_thread(as_yaml)).encode(), b"application/yaml")


@get("/docs/errors", call="page", is_open=True)
async def show_errors(request: Call) -> Response[bytes]:
    """Explain every error code, each under its own anchor."""
    entries = "\n".join(map(_entry, CODES, CODES.values())).encode()
    page = _load(__package__, "errors.html").replace(b"{entries}", entries)
    back = _PLAYGROUND if playground.is_on(request.service.settings) else b""
    return _page(page.replace(b"{playground}", back), HTML, _ERRORS_POLICY)


@get(list(_FILES), call="page", is_open=True, sync_to_thread=False)
def show_static(request: Call) -> Response[bytes]:
    """Return the summary for language models (https://llmstxt.org), or a file of the browser."""
    package, file, media, policy = _FILES[request.head.path.rstrip("/")]
    return _page(_load(package, file), media, policy)


@get(["/", "/playground/{name:str}"], call="playground", is_open=True, sync_to_thread=False)
def show_file(request: Call, if_none_match: IfNoneMatch = None) -> Response[Any]:
    """Return the playground's page, or one of its scripts, style sheets and sample catalogs."""
    file = playground.static_files().get(request.path_params.get("name", "index.html"))
    if file is None:
        raise Refused("not_found", "there is nothing at this path")
    headers = {**playground.HEADERS, "etag": f'"{file.digest}"'}
    if if_none_match and names_tag(if_none_match, file.digest):
        return Response(None, headers=headers, status_code=304)
    return Response(file.content, headers=headers, media_type=file.media.partition(";")[0])


HANDLERS = (show_document, show_yaml, show_errors, show_static)
PLAYGROUND = (show_file,)


def _page(content: bytes, media: bytes, policy: str = "") -> Response[bytes]:
    headers = {NO_SNIFFING[0].decode(): NO_SNIFFING[1].decode()}
    if policy:
        headers["content-security-policy"] = policy
    return Response(content, headers=headers, media_type=media.decode().partition(";")[0])


def _entry(code: str, kind: Code) -> str:
    retry = f" with <code>Retry-After: {kind.retry_after_s}</code>" if kind.retry_after_s else ""
    explained = _CODE.sub(r"<code>\1</code>", escape(kind.help))
    return (
        f'<section id="{code}">\n<h2><a href="#{code}"><code>{code}</code></a></h2>\n'
        f"<p>{kind.status}{retry}: {escape(kind.title)}.</p>\n<p>{explained}</p>\n</section>"
    )


@cache
def _load(package: str, path: str) -> bytes:
    return files(package).joinpath(path).read_bytes()
