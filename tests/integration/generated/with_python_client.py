"""Search with the client that openapi-python-client makes, by its classes and by plain objects."""

import sys

from python_client import Client
from python_client.api.selection import search
from python_client.models import SearchRequest, Tool

TOOLS = [
    Tool(name="search_code", description="Search the code of a repository"),
    Tool(name="send_email", description="Send a message to an address"),
]
PLAIN = {"pattern": "find code", "top_k": 1, "tools": [tool.to_dict() for tool in TOOLS]}

client = Client(base_url=sys.argv[1])
for request in (
    SearchRequest(pattern="find code", top_k=1, tools=TOOLS),
    SearchRequest.from_dict(PLAIN),
):
    print(*search.sync(client=client, body=request).selected_names)
