"""Search with the client that openapi-generator makes, by its classes and by plain objects."""

import sys

from openapi_client import ApiClient, Configuration, SearchRequest, SelectionApi, Tool

TOOLS = [
    Tool(name="search_code", description="Search the code of a repository"),
    Tool(function={"name": "send_email", "description": "Send a message to an address"}),
]
PLAIN = {"pattern": "find code", "top_k": 1, "tools": [tool.to_dict() for tool in TOOLS]}

api = SelectionApi(ApiClient(Configuration(host=sys.argv[1])))
for request in (SearchRequest(pattern="find code", top_k=1, tools=TOOLS), SearchRequest(**PLAIN)):
    print(*api.search(request).actual_instance.selected_names)
