"""Searches among the items of OpenAI Responses, and what is left without them."""

from toolscout.discovery.providers.provider import Json, mapping

NATIVE = "tool_search"
"""Name of the search tool that stands for the API's own (`{"type": "tool_search"}`)."""


def is_search(item: Json, name: str) -> bool:
    """Whether an item of a response is a call of the search tool of this name."""
    if name == NATIVE:
        return item.get("type") == "tool_search_call" and item.get("execution") == "client"
    return item.get("type") == "function_call" and item.get("name") == name


def without_searches(response: Json, name: str) -> Json:
    """Remove the calls of a search tool, and the tool where a response repeats its request's.

    Returns:
        the response itself where it has neither.
    """
    changed = dict(response)
    if isinstance(response.get("output"), list):
        changed["output"] = [i for i in response["output"] if not is_search(mapping(i), name)]
    if isinstance(response.get("tools"), list):
        changed["tools"] = [t for t in response["tools"] if not _searches(mapping(t), name)]
    return response if changed == response else changed


def _searches(tool: Json, name: str) -> bool:
    return tool.get("type") == NATIVE if name == NATIVE else tool.get("name") == name
