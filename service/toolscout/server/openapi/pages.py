"""Pages that need no network: the OpenAPI browser, the errors, the playground, and for models.

The browser at `/docs` is Swagger UI from the installed package. `/docs/errors` is made from the
table of error codes; the `type` of each problem links to it.
"""

import re
from functools import cache
from html import escape
from importlib.resources import files

from toolscout import playground
from toolscout.server.compiling.work_threads import run_in_thread
from toolscout.server.http.answer import HTML, JAVASCRIPT, NO_SNIFFING, Answer, names_tag
from toolscout.server.http.problems import CODES, Code, Refused
from toolscout.server.http.request import Request
from toolscout.server.observe.record import Trace
from toolscout.server.openapi.document import as_json, as_yaml
from toolscout.server.routes.table import Route
from toolscout.server.service import Service

_CLOSED = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    f"img-src 'self' data:; connect-src 'self'; {_CLOSED}"
)
_ERRORS_POLICY = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; {_CLOSED}"
_FILES = {
    "/llms.txt": (__package__, "llms.txt", b"text/plain; charset=utf-8", ""),
    "/docs": (__package__, "docs.html", HTML, _POLICY),
    "/docs/start.js": (__package__, "start.js", JAVASCRIPT, ""),
    "/docs/swagger-ui.css": ("swagger_ui", "static/swagger-ui.css", b"text/css; charset=utf-8", ""),
    "/docs/swagger-ui-bundle.js": ("swagger_ui", "static/swagger-ui-bundle.js", JAVASCRIPT, ""),
}
"""Files by path: package, file, media type and content security policy."""

_PLAYGROUND = b'<a href="/">Playground</a>'
_CODE = re.compile(r"`([^`]+)`")


async def show_document(service: Service, request: Request, trace: Trace) -> Answer:
    """Return the OpenAPI document."""
    return Answer(await run_in_thread(as_json), [NO_SNIFFING])


async def show_yaml(service: Service, request: Request, trace: Trace) -> Answer:
    """Return the same as YAML."""
    return Answer((await run_in_thread(as_yaml)).encode(), [NO_SNIFFING], media=b"application/yaml")


async def show_errors(service: Service, request: Request, trace: Trace) -> Answer:
    """Explain every error code, each under its own anchor."""
    entries = "\n".join(map(_entry, CODES, CODES.values())).encode()
    page = _load(__package__, "errors.html").replace(b"{entries}", entries)
    back = _PLAYGROUND if playground.is_on(service.settings) else b""
    page = page.replace(b"{playground}", back)
    return Answer(page, _headers(_ERRORS_POLICY), media=HTML)


async def show_static(service: Service, request: Request, trace: Trace) -> Answer:
    """Return the summary for language models (https://llmstxt.org), or a file of the browser."""
    package, file, media, policy = _FILES[request.path.rstrip("/")]
    return Answer(_load(package, file), _headers(policy), media=media)


async def show_file(service: Service, request: Request, trace: Trace) -> Answer:
    """Return the playground's page, or one of its scripts, style sheets and sample catalogs."""
    file = playground.static_files().get(request.parameters.get("name", "index.html"))
    if file is None:
        raise Refused("not_found", "there is nothing at this path")
    headers = [
        (name.lower().encode(), value.encode()) for name, value in playground.HEADERS.items()
    ]
    headers.append((b"etag", f'"{file.digest}"'.encode()))
    if names_tag(request.header(b"if-none-match"), file.digest):
        return Answer(headers=headers, status=304)
    return Answer(file.content, headers, media=file.media.encode())


ROUTES = [
    Route("GET", path, handler, "page", is_open=True)
    for path, handler in (
        ("/openapi.json", show_document),
        ("/openapi.yaml", show_yaml),
        ("/docs/errors", show_errors),
        *((path, show_static) for path in _FILES),
    )
]
PLAYGROUND_ROUTES = [
    Route("GET", path, show_file, "playground", is_open=True)
    for path in ("/", "/playground/{name}")
]


def _headers(policy: str) -> list[tuple[bytes, bytes]]:
    return [*([(b"content-security-policy", policy.encode())] if policy else []), NO_SNIFFING]


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
