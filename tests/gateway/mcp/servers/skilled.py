"""A server that offers a skill over MCP, and says so from its first answer on."""

import hashlib
import json
import sys
from typing import Any

TEXT = "---\nname: git-workflow\ndescription: Our branches\nlicense: MIT\n---\nBranch first.\n"
URI = "skill://acme/git-workflow/SKILL.md"
SKILL = {
    "uri": URI,
    "frontmatter": {"name": "git-workflow", "description": "Our branches", "license": "MIT"},
    "resources": [
        {
            "uri": URI,
            "digest": f"sha256:{hashlib.sha256(TEXT.encode()).hexdigest()}",
            "size": len(TEXT),
        }
    ],
}
DYNAMIC = {
    "uri": "skill://daily/SKILL.md",
    "frontmatter": {"name": "daily", "description": "Today's report"},
    "resources": "dynamic",
}
FAULTY = [
    {"uri": "skill://odd/SKILL.md", "frontmatter": {}, "resources": "nonsense"},
    "no entry at all",
]
CAPABILITIES = {"resources": {}, "extensions": {"io.modelcontextprotocol/skills": {}}}


def result_of(request: dict[str, Any]) -> dict[str, Any] | None:
    params = request.get("params") or {}
    cached = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
    results: dict[str, dict[str, Any]] = {
        "initialize": {
            "protocolVersion": params.get("protocolVersion"),
            "capabilities": CAPABILITIES,
            "serverInfo": {"name": "skilled", "version": "1"},
        },
        "ping": {},
        "resources/list": {"resources": [{"uri": URI, "name": "git-workflow"}]},
        "resources/templates/list": {"resourceTemplates": []},
        "skills/list": cached | {"skills": [SKILL, *FAULTY, DYNAMIC]},
    }
    if params.get("uri") == URI:
        results["skills/get"] = cached | {"skill": SKILL}
        results["resources/read"] = {"contents": [{"uri": URI, "text": TEXT}]}
    return results.get(request["method"])


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = result_of(request)
    refusal = {"code": -32602, "message": "no such skill"}
    answer = {"error": refusal} if result is None else {"result": result}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}) + "\n")
    sys.stdout.flush()
