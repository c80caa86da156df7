"""A server that speaks 2026-07-28 alone, and asks its host something when it is called."""

import json
import sys
from typing import Any

VERSION = "2026-07-28"
TOOL = {"name": "ask", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
FORM = {"mode": "form", "message": "who?", "requestedSchema": {"type": "object", "properties": {}}}
QUESTION = {"method": "elicitation/create", "params": FORM}
COMPLETE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
RESULTS: dict[str, dict[str, Any]] = {
    "server/discover": {"supportedVersions": [VERSION], "capabilities": {"tools": {}}, **COMPLETE},
    "tools/list": {"tools": [TOOL], **COMPLETE},
    "tools/call": {"resultType": "input_required", "inputRequests": {"who": QUESTION}},
}
UNKNOWN = {"error": {"code": -32022, "message": "no", "data": {"supported": [VERSION]}}}

for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = RESULTS.get(request["method"])
        answer = UNKNOWN if result is None else {"result": result}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}) + "\n")
        sys.stdout.flush()
