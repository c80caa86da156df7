"""A proxy that forwards to a provider, in forty lines: the transport chooses the tools.

pip install '.[proxy]'
TOOLSCOUT_ENDPOINT=http://127.0.0.1:8080 python examples/forwarding_proxy.py
OPENAI_BASE_URL=http://127.0.0.1:8200/v1 python your_agent.py
"""

import asyncio
import os

import httpx2
import uvicorn

from toolscout.discovery import AsyncTransport

NOT_FORWARDED = {b"host", b"content-length", b"transfer-encoding", b"connection"}
UPSTREAM = os.environ.get("UPSTREAM", "https://api.openai.com")

transport = AsyncTransport(os.environ.get("TOOLSCOUT_ENDPOINT", "http://127.0.0.1:8080"))


async def app(scope, receive, send):
    """Forward one request, and its response piece by piece, until the caller leaves."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body, more = body + message.get("body", b""), message.get("more_body", False)
    headers = [(name, value) for name, value in scope["headers"] if name not in NOT_FORWARDED]
    path = scope["raw_path"].decode() + "?" * bool(scope["query_string"])
    url = UPSTREAM + path + scope["query_string"].decode()
    # A client would keep the cookies of one caller for the next; the transport keeps none.
    request = httpx2.Request(scope["method"], url, headers=headers, content=body)
    try:
        response = await transport.handle_async_request(request)
    except httpx2.TransportError:
        response = httpx2.Response(502, stream=httpx2.ByteStream(b"the provider does not answer"))
    gone = asyncio.ensure_future(receive())
    start = {"type": "http.response.start", "status": response.status_code}
    kept = [pair for pair in response.headers.raw if pair[0].lower() not in NOT_FORWARDED]
    await send(start | {"headers": kept})
    async for piece in response.aiter_raw():
        if gone.done():
            break
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    gone.cancel()
    await response.aclose()
    await send({"type": "http.response.body"})


if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ.get("PORT", "8200")), lifespan="off")
