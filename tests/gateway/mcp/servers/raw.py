"""A server that lists what `TOOLS` says, word for word, as no library would send it.

With `STARTS_WITH` it answers nothing until there is a file of that name. A call is answered with
the name of the tool, one of `echo` with its arguments; one of `grow` announces one tool more, at
once, and lists it when a file of the name in `LISTS_WITH` is there, if that is set; one of `end`
ends the process. `LIST` is added to each list. With `SILENT` each list has one tool more than the
one before. `PROMPTS` is listed as they are. With `COMPLETES` a completion is what was asked.
`SAYS`, as JSON, is written to standard error first.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

PAUSE_S = 0.01
CHANGED = {"method": "notifications/tools/list_changed"}
tools: list[Any] = json.loads(os.environ["TOOLS"])
has_grown = False
sys.stderr.buffer.write(json.loads(os.environ.get("SAYS", '""')).encode())
sys.stderr.flush()


def wait_for(variable: str) -> None:
    while variable in os.environ and not Path(os.environ[variable]).exists():
        time.sleep(PAUSE_S)


def write(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def result_of(request: dict[str, Any]) -> dict[str, Any]:
    global has_grown
    if request["method"] == "initialize":
        wait_for("STARTS_WITH")
        version = request["params"]["protocolVersion"]
        capabilities = {"tools": {"listChanged": True}, "prompts": {}}
        about = {"serverInfo": {"name": "raw", "version": "1"}}
        return {"protocolVersion": version, "capabilities": capabilities, **about}
    if request["method"] == "tools/list":
        if has_grown:
            wait_for("LISTS_WITH")
        more = json.loads(os.environ.get("LIST", "{}"))
        if "SILENT" in os.environ:
            tools.append(tools[0] | {"name": f"tool_{len(tools)}"})
        return {"tools": tools, **more}
    if request["method"] == "prompts/list":
        return {"prompts": json.loads(os.environ.get("PROMPTS", "[]"))}
    if request["method"] == "completion/complete" and "COMPLETES" in os.environ:
        asked = request["params"]
        asked.pop("_meta", None)
        return {"completion": {"values": [json.dumps(asked, sort_keys=True)], "total": 7}}
    if request["method"] == "tools/call":
        name = request["params"]["name"]
        if name == "end":
            os._exit(1)
        if name == "grow":
            has_grown = True
            hints = {"readOnlyHint": True}
            grown = {"name": "grown", "inputSchema": {"type": "object"}, "annotations": hints}
            tools.append(grown | {"description": "Show what has grown"})
            write(CHANGED)
        text = json.dumps(request["params"]["arguments"]) if name == "echo" else name
        return {"content": [{"type": "text", "text": text}]}
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request and "method" in request:
        write({"id": request["id"], "result": result_of(request)})
