"""Ask the service for a tool, as `helm test` does; fails if the answer is not the right one."""

import json
import os
import ssl
import urllib.request
from pathlib import Path

TOOLS = [
    {"name": "read_file", "description": "Open and read a file from disk"},
    {"name": "send_email", "description": "Send a message to an address"},
]

headers = {"Content-Type": "application/json"}
keys = Path(os.environ.get("TOOLSCOUT_API_KEYS_FILE", "/none"))
if keys.is_file():
    first = keys.read_text("utf-8").replace(",", "\n").split()[0]
    headers["Authorization"] = f"Bearer {first.partition('=')[2]}"
body = json.dumps({"pattern": "read a file", "top_k": 1, "tools": TOOLS}).encode()
url = os.environ["TOOLSCOUT_URL"] + "/v1/tool-discovery/search"
request = urllib.request.Request(url, body, headers)  # the chart's own address
# The certificate names what callers use, which need not be the Service.
context = ssl._create_unverified_context()
with urllib.request.urlopen(request, timeout=30, context=context) as response:
    answer = json.load(response)
print(answer)  # `helm test --logs` shows it
if answer["selected_names"] != ["read_file"]:
    raise SystemExit("expected read_file")
