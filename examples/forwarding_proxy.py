"""A proxy that forwards to a provider, in forty lines: the transport chooses the tools.

pip install '.[proxy]'
TOOLSCOUT_ENDPOINT=http://127.0.0.1:8080 python examples/forwarding_proxy.py
OPENAI_BASE_URL=http://127.0.0.1:8200/v1 python your_agent.py
"""

import os

import httpx2
import uvicorn

from toolscout.discovery import AsyncTransport

NOT_FORWARDED = {b"host", b"content-length", b"transfer-encoding", b"connection"}

transport = AsyncTransport(os.environ.get("TOOLSCOUT_ENDPOINT", "http://127.0.0.1:8080"))
upstream = httpx2.AsyncClient(
    base_url=os.environ.get("UPSTREAM", "https://api.openai.com"), transport=transport, timeout=600
)


async def app(scope, receive, send):
    """Forward one request, and its response piece by piece."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    headers = [(name, value) for name, value in scope["headers"] if name not in NOT_FORWARDED]
    path = scope["raw_path"].decode() + "?" * bool(scope["query_string"])
    request = upstream.build_request(
        scope["method"], path + scope["query_string"].decode(), headers=headers, content=body
    )
    response = await upstream.send(request, stream=True)
    start = {"type": "http.response.start", "status": response.status_code}
    kept = [pair for pair in response.headers.raw if pair[0].lower() not in NOT_FORWARDED]
    await send(start | {"headers": kept})
    async for piece in response.aiter_raw():
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body"})


if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ.get("PORT", "8200")), lifespan="off")
