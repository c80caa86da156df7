"""Pages for people, served without a network: the OpenAPI browser, and every error explained.

The browser at `/docs` is Swagger UI from the installed package. `/docs/errors` is made from the
table of error codes; the `type` of each problem points at its place there.
"""

import re
from functools import cache
from html import escape
from importlib.resources import files

from litestar import Response, get

from toolscout.server.http.exchange import Refused
from toolscout.server.http.problems import CODES, Code

_ASSETS = {
    "swagger-ui.css": "text/css",
    "swagger-ui-bundle.js": "text/javascript",
}
_POLICY = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " + (
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_START = 'SwaggerUIBundle({url: "/openapi.json", dom_id: "#ui", deepLinking: true});'
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Toolscout API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<div id="ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</html>
"""

_CODE = re.compile(r"`([^`]+)`")
_ERRORS_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; " + (
    "form-action 'none'; frame-ancestors 'none'"
)
NO_SNIFFING = {"X-Content-Type-Options": "nosniff"}
_ERRORS_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Toolscout errors</title>
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


@get("/docs", sync_to_thread=False)
def page() -> Response[str]:
    """The page."""
    headers = {"Content-Security-Policy": _POLICY, **NO_SNIFFING}
    return Response(_PAGE, media_type="text/html", headers=headers)


@get("/docs/errors", sync_to_thread=False)
def errors() -> Response[str]:
    """Explain every error code, each under its own anchor."""
    headers = {"Content-Security-Policy": _ERRORS_POLICY, **NO_SNIFFING}
    return Response(_errors_page(), media_type="text/html", headers=headers)


@get("/docs/{name:str}", sync_to_thread=False)
def asset(name: str) -> Response[bytes]:
    """Its script and style sheet."""
    if name == "start.js":
        return Response(_START.encode(), media_type="text/javascript", headers=NO_SNIFFING)
    if name not in _ASSETS:
        raise Refused("not_found", "there is nothing at this path")
    return Response(_load(name), media_type=_ASSETS[name], headers=NO_SNIFFING)


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
