"""How many functions of the package a search calls, counted in a service in this process."""

import asyncio
import json
import sys
from types import FrameType
from typing import Any

from docs.generate.house import PACKAGE
from toolscout.server.app import Application, create_app
from toolscout.settings_sources import load

TOOLS = [
    {"name": f"tool_{number}", "description": f"Read the report of department {number}"}
    for number in range(300)
]
QUESTION = "read the report of department 7 and tell me what it says"
PATIENCE_MS = 60_000


def count_calls() -> tuple[int, int]:
    """Return the calls of a question that was not asked before: inline, and by digest."""
    return asyncio.run(_count())


async def _count() -> tuple[int, int]:
    application = create_app(load({"log": "off", "playground": "off"}, {}))
    async with application.lifespan():
        first = {"pattern": "read", "tools": TOOLS, "explain": True}
        catalog = (await _search(application, first))["catalog"]
        for word in ("first", "second"):  # what is made once is made by then
            await _search(application, {"pattern": f"the {word} report", "tools": TOOLS})
            await _search(application, {"pattern": f"a {word} report", "catalog": catalog})
        inline = await _count_search(application, {"pattern": QUESTION, "tools": TOOLS})
        asked = {"pattern": f"please {QUESTION}", "catalog": catalog}
        return inline, await _count_search(application, asked)


async def _count_search(application: Application, body: dict[str, Any]) -> int:
    called = 0

    def count(frame: FrameType, event: str, _: Any) -> None:
        nonlocal called
        called += event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE))

    sys.setprofile(count)
    try:
        await _search(application, body)
    finally:
        sys.setprofile(None)
    return called


async def _search(application: Application, body: dict[str, Any]) -> Any:
    content = json.dumps({**body, "latency_budget_ms": PATIENCE_MS}).encode()
    answered = bytearray()
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    if "catalog" in body:
        headers.append((b"x-catalog-digest", body["catalog"].encode()))
    scope: Any = {
        "type": "http",
        "method": "POST",
        "scheme": "http",
        "http_version": "1.1",
        "path": "/v1/tool-discovery/search",
        "query_string": b"",
        "headers": headers,
    }

    async def receive() -> Any:
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: Any) -> None:
        answered.extend(message.get("body", b""))

    await application(scope, receive, send)
    return json.loads(answered)
