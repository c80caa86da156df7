"""The OpenAPI browser at `/docs`: Swagger UI from the installed package, no network needed."""

from functools import cache
from importlib.resources import files

from litestar import Response, get

from toolscout.server.exchange import Refused

_ASSETS = {
    "swagger-ui.css": "text/css",
    "swagger-ui-bundle.js": "text/javascript",
}
_POLICY = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " + (
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'"
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


@get("/docs", sync_to_thread=False)
def page() -> Response[str]:
    """The page."""
    headers = {"Content-Security-Policy": _POLICY}
    return Response(_PAGE, media_type="text/html", headers=headers)


@get("/docs/{name:str}", sync_to_thread=False)
def asset(name: str) -> Response[bytes]:
    """Its script and style sheet."""
    if name == "start.js":
        return Response(_START.encode(), media_type="text/javascript")
    if name not in _ASSETS:
        raise Refused("not_found", "there is nothing at this path")
    return Response(_load(name), media_type=_ASSETS[name])


@cache
def _load(name: str) -> bytes:
    return files("swagger_ui").joinpath("static", name).read_bytes()
