"""Callers that bring a provider's own search tool, and what they see of its searches."""

from typing import Any

from tests.client.agents import Agent
from tests.client.shapes import Json
from toolscout.discovery import Transport

ABOUT = {f"tool_{number}": f"Does the thing of number {number}" for number in range(200)}
ABOUT |= {"send_email": "Send an email to somebody"}

BM25 = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
REGEX = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
OPENAI: Json = {"type": "tool_search"}
OPENROUTER: Json = {"type": "openrouter:tool_search"}
TEXT = {"type": "text", "text": "There is one."}

WITHOUT = {"openai": "glm-4.6", "openai-responses": "gpt-4.1", "anthropic": "glm-4.6"}
"""Models without a search of their own."""

FORMS = [
    ("anthropic", BM25),
    ("anthropic", REGEX),
    ("openai-responses", OPENAI),
    ("openai-responses", OPENROUTER),
    ("openai", OPENROUTER),
]
OPEN: list[Agent] = []


def agent_of(interface: str, url: str, own: Json, transport: Transport, **more: Any) -> Agent:
    """Return an agent that defers all its tools but one, and brings a search tool."""
    more = {"model": WITHOUT[interface], **more}
    agent = Agent(interface, url, transport, ABOUT, **more)
    agent.tools = [own, *deferred(agent.tools, "tool_3")]
    OPEN.append(agent)
    return agent


def deferred(tools: list[Json], *pinned: str) -> list[Json]:
    """Mark tools as deferred, but for those that are pinned."""
    return [
        tool if (tool.get("function") or tool)["name"] in pinned else tool | {"defer_loading": True}
        for tool in tools
    ]


def seen_by_caller(messages: list[Any]) -> list[Json]:
    """Return the blocks and items of searches in a conversation of the caller."""
    parts: list[Any] = []
    for message in messages:
        content = message.get("content")
        parts += content if isinstance(content, list) else [message]
    read = [part if isinstance(part, dict) else part.to_dict() for part in parts]
    kinds = ("server_tool_use", "tool_search")
    return [part for part in read if any(kind in str(part.get("type")) for kind in kinds)]


def found_by(own: Json, parts: list[Json]) -> list[str]:
    """Check what the caller sees of one search, and return the names that it has found."""
    if own == OPENROUTER:
        (item,) = parts
        assert item["query"] == "send an email to somebody"
        assert item["status"] == "completed"
        return ["send_email"]
    asked, answered = parts
    if own == OPENAI:
        assert asked["arguments"] == {"query": "send an email to somebody"}
        for item in parts:
            assert (item["execution"], item["status"]) == ("server", "completed")
            assert item.get("call_id") is None
        assert all(tool["defer_loading"] for tool in answered["tools"])
        return [tool["name"] for tool in answered["tools"]]
    key = "pattern" if own is REGEX else "query"
    assert asked["name"] == own["name"]
    assert asked["input"] == {key: "send an email to somebody"}
    assert asked["id"] == answered["tool_use_id"]
    assert asked["id"].startswith("srvtoolu_")
    return [one["tool_name"] for one in answered["content"]["tool_references"]]


def names_in(part: Json) -> list[str]:
    """Return the names that the result of a search has."""
    content = part.get("content")
    references = content.get("tool_references", []) if isinstance(content, dict) else []
    named = [reference["tool_name"] for reference in references]
    return [*named, *(tool["name"] for tool in part.get("tools", []))]
