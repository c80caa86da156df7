"""Items and tools of OpenAI Responses: searches among its items, namespaces of its tools.

    {"type": "namespace", "name": "crm", "description": "…", "tools": [{"type": "function", …}]}

A function of a namespace is a tool of its own here. It is known as `crm.find_contact` while it is
searched, and goes back into its namespace before the request is sent.
"""

from collections.abc import Iterable
from typing import Any

from toolscout.discovery.providers.fields import Json, mapping, mappings

NATIVE = "tool_search"
"""Name of the search tool that stands for the API's own (`{"type": "tool_search"}`)."""

NAMESPACE = "namespace"
_SPACE = "namespace_description"


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


def flattened(tools: Iterable[Any]) -> list[Any]:
    """Return the functions of namespaces as tools of their own, in place of the namespaces."""
    found: list[Any] = []
    for tool in tools:
        given = mapping(tool)
        if given.get("type") != NAMESPACE or not isinstance(given.get("name"), str):
            found.append(tool)
            continue
        space = {NAMESPACE: given["name"], _SPACE: given.get("description")}
        found += [
            {**function, "name": name_in(given["name"], function.get("name")), **space}
            for function in mappings(given.get("tools"))
        ]
    return found


def grouped(tools: Iterable[Any]) -> list[Any]:
    """Return the tools with functions back in their namespaces, each where its first one stands."""
    found: list[Any] = []
    spaces: dict[str, Json] = {}
    for tool in tools:
        given = mapping(tool)
        if _SPACE not in given:
            found.append(tool)
            continue
        name = given[NAMESPACE]
        if name not in spaces:
            spaces[name] = {"type": NAMESPACE, "name": name, "tools": []}
            if given[_SPACE] is not None:
                spaces[name]["description"] = given[_SPACE]
            found.append(spaces[name])
        plain = {key: value for key, value in given.items() if key not in (NAMESPACE, _SPACE)}
        spaces[name]["tools"].append({**plain, "name": given["name"].removeprefix(f"{name}.")})
    return found


def name_in(namespace: Any, name: Any) -> str:
    """Return the name under which a function of a namespace is searched and remembered."""
    return f"{namespace}.{name}" if namespace else str(name)
