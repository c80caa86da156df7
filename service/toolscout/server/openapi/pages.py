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
from toolscout.server.http.answer import (
    HTML,
    JAVASCRIPT,
    NO_SNIFFING,
    Answer,
    answer_json,
    names_tag,
)
from toolscout.server.http.problems import CODES, Code
from toolscout.server.http.refusals import Refused
from toolscout.server.http.request import Request
from toolscout.server.observe.trace import Trace
from toolscout.server.openapi.document import as_yaml, document
from toolscout.server.routes.route import Route
from toolscout.server.service import Service

_ASSETS = {
    "swagger-ui.css": b"text/css; charset=utf-8",
    "swagger-ui-bundle.js": JAVASCRIPT,
}
_POLICY = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " + (
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
# Swagger UI has no dark colours, so the page turns its light ones around; the choice of the
# playground holds here, too.
_START = """let theme = null;
try {
  theme = localStorage.getItem("theme");
} catch {
  // Storage may be forbidden; then the system decides.
}
const dark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
document.documentElement.classList.toggle("dark", dark);
SwaggerUIBundle({url: "/openapi.json", dom_id: "#ui", deepLinking: true});
"""
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Toolscout API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<style>
body { margin: 0 }
.dark { background: #131617; color-scheme: dark }
.dark #ui { filter: invert(.9) hue-rotate(180deg) }
.dark #ui .highlight-code { filter: invert(1) hue-rotate(180deg) }
</style>
<div id="ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</html>
"""

_CODE = re.compile(r"`([^`]+)`")
_ERRORS_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; " + (
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_ERRORS_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Toolscout errors</title>
<link rel="icon" href="data:,">
<style>
:root {{ color-scheme: light dark }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto }}
section:target {{ outline: 2px solid; outline-offset: .5rem }}
h2 a {{ color: inherit; text-decoration: none }}
</style>
<h1>Errors</h1>
<p>Every error answer is an <code>application/problem+json</code> document. Its <code>code</code>
never changes its meaning, and its <code>type</code> is the address of an entry below.</p>
{entries}
<p><a href="/docs">API</a></p>
</html>
"""


async def show_document(service: Service, request: Request, trace: Trace) -> Answer:
    """Return the OpenAPI document."""
    return answer_json(document(), [NO_SNIFFING])


async def show_yaml(service: Service, request: Request, trace: Trace) -> Answer:
    """Return the same as YAML."""
    return Answer((await run_in_thread(as_yaml)).encode(), [NO_SNIFFING], media=b"application/yaml")


async def show_summary(service: Service, request: Request, trace: Trace) -> Answer:
    """Describe the service for language models (https://llmstxt.org)."""
    text = files(__package__).joinpath("llms.txt").read_bytes()
    return Answer(text, [NO_SNIFFING], media=b"text/plain; charset=utf-8")


async def show_page(service: Service, request: Request, trace: Trace) -> Answer:
    """Return the page of the OpenAPI browser."""
    return Answer(_PAGE.encode(), _headers(_POLICY), media=HTML)


async def show_errors(service: Service, request: Request, trace: Trace) -> Answer:
    """Explain every error code, each under its own anchor."""
    return Answer(_errors_page().encode(), _headers(_ERRORS_POLICY), media=HTML)


async def show_asset(service: Service, request: Request, trace: Trace) -> Answer:
    """Return the script and style sheet of the OpenAPI browser."""
    name = request.parameters["name"]
    if name == "start.js":
        return Answer(_START.encode(), [NO_SNIFFING], media=JAVASCRIPT)
    if name not in _ASSETS:
        raise Refused("not_found", "there is nothing at this path")
    return Answer(_load(name), [NO_SNIFFING], media=_ASSETS[name])


ROUTES = [
    Route(method="GET", path=path, handler=handler, call="page", is_open=True)
    for path, handler in (
        ("/openapi.json", show_document),
        ("/openapi.yaml", show_yaml),
        ("/llms.txt", show_summary),
        ("/docs", show_page),
        ("/docs/errors", show_errors),
        ("/docs/{name}", show_asset),
    )
]


def _headers(policy: str) -> list[tuple[bytes, bytes]]:
    return [(b"content-security-policy", policy.encode()), NO_SNIFFING]


@cache
def _errors_page() -> str:
    return _ERRORS_PAGE.format(entries="\n".join(map(_entry, CODES, CODES.values())))


def _entry(code: str, kind: Code) -> str:
    retry = f" with <code>Retry-After: {kind.retry_after_s}</code>" if kind.retry_after_s else ""
    explained = _CODE.sub(r"<code>\1</code>", escape(kind.help))
    return (
        f'<section id="{code}">\n<h2><a href="#{code}"><code>{code}</code></a></h2>\n'
        f"<p>{kind.status}{retry}: {escape(kind.title)}.</p>\n<p>{explained}</p>\n</section>"
    )


@cache
def _load(name: str) -> bytes:
    return files("swagger_ui").joinpath("static", name).read_bytes()


async def show_file(service: Service, request: Request, trace: Trace) -> Answer:
    """Return the page, or one of its scripts, style sheets and sample catalogs."""
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


PLAYGROUND_ROUTES = [
    Route(method="GET", path=path, handler=show_file, call="playground", is_open=True)
    for path in ("/", "/playground/{name}")
]
