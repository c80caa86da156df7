"""The playground's page and its files over HTTP."""

from toolscout import playground
from toolscout.server.http.answer import Answer, names_tag
from toolscout.server.http.refusals import Refused
from toolscout.server.http.request import Request
from toolscout.server.observe.trace import Trace
from toolscout.server.routes.route import Route
from toolscout.server.service import Service


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


ROUTES = [
    Route(method="GET", path=path, handler=show_file, call="playground", is_open=True)
    for path in ("/", "/playground/{name}")
]
