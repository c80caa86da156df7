"""An MCP server over HTTP whose short answers decode to long ones."""

import json
import zlib

from tests.client.upstream import Exchange

JSON = ("Content-Type", "application/json")
GZIP = ("Content-Encoding", "gzip")
MIB = 1024 * 1024

TOOL = {
    "name": "work",
    "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
}
RESULTS = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "bomb", "version": "1"},
    },
    "tools/list": {"tools": [TOOL]},
    "tools/call": {"content": [{"type": "text", "text": "done"}]},
}


class Bomb:
    """Answers every request; those to some methods by as many MiB as it is told."""

    def __init__(self, *methods: str, mib: int = 64) -> None:
        self.methods = methods
        self.mib = mib

    def __call__(self, exchange: Exchange) -> None:
        if not exchange.body:
            exchange.answer(status=405)
            return
        request = exchange.json
        if "id" not in request:
            exchange.answer(status=202)
            return
        mib = self.mib if request["method"] in self.methods else 0
        answer = {
            "result": RESULTS.get(request["method"], {}) | {"_meta": {"filler": "|"}},
            "jsonrpc": "2.0",
            "id": request["id"],
        }
        head, tail = json.dumps(answer).encode().split(b"|")
        packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
        packed = packer.compress(head)
        for _ in range(mib):
            packed += packer.compress(b"a" * MIB)
        packed += packer.compress(tail) + packer.flush()
        exchange.answer(packed, headers=[JSON, GZIP])
