"""Namespaces of OpenAI Responses: functions under a common name, each of which is a tool here.

    {"type": "namespace", "name": "crm", "description": "…", "tools": [{"type": "function", …}]}

A function is known as `crm.find_contact` while it is searched, and goes back into its namespace
before the request is sent.
"""

from collections.abc import Iterable
from typing import Any

from toolscout.discovery.providers.provider import Json, mapping, mappings

NAMESPACE = "namespace"
_SPACE = "namespace_description"


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
