"""What the providers refuse, and which tools their models see, from their documentation."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests.turns.turns import Json
from toolscout.turns.providers.native import version_of

MAX_TOOLS = 128

MAX_DECLARED = 512
DECLARED, CALLED, TOLD = "functionDeclarations", "functionCall", "functionResponse"
"""Keys of Gemini, and its maximum of functions."""


def refusal(interface: str, body: Json) -> str | None:
    """Why a provider answers a request with status 400; None if it takes it."""
    rules = {"openai": _chat, "openai-responses": _responses, "gemini": _gemini}
    return next(rules.get(interface, _messages)(body), None)


def visible(interface: str, body: Json) -> list[str]:
    """Names of the tools that the model of a request sees, in the order of the prompt."""
    if interface == "openai":
        return [tool["function"]["name"] for tool in body.get("tools", [])]
    if interface == "gemini":
        return [one["name"] for tool in body.get("tools", []) for one in tool[DECLARED]]
    shown = [_name(tool) for tool in _functions(body.get("tools", [])) if not _is_deferred(tool)]
    return list(dict.fromkeys([*shown, *_loaded(interface, body)]))


def _chat(body: Json) -> Iterator[str]:
    tools = body.get("tools")
    if tools == []:
        yield "tools: [] is too short"
    names = [tool["function"]["name"] for tool in tools or [] if "function" in tool]
    yield from _names(names, MAX_TOOLS)
    if any("defer_loading" in tool for tool in tools or []):
        yield "Unknown parameter: tools[0].defer_loading"
    if any(tool["type"] != "function" for tool in tools or []):
        yield "Invalid value: tools[0].type"
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice["function"]["name"] not in names:
        yield "tool_choice: no such tool"
    messages = body["messages"]
    called = {c["id"] for m in messages for c in m.get("tool_calls") or []}
    if called != {m["tool_call_id"] for m in messages if m["role"] == "tool"}:
        yield "every tool_call must be followed by its tool message"


def _gemini(body: Json) -> Iterator[str]:
    yield from _names(visible("gemini", body), MAX_DECLARED)
    turns = [
        [kind for part in turn["parts"] for kind in (CALLED, TOLD) if kind in part]
        for turn in body["contents"]
    ]
    for turn, following in pairwise([*turns, []]):
        if CALLED in turn and following != [TOLD] * len(turn):
            yield "the number of function responses must equal that of function calls"


def _messages(body: Json) -> Iterator[str]:
    tools = body.get("tools", [])
    yield from _names([tool["name"] for tool in tools], 10_000)
    can_defer = version_of("claude", body["model"]) >= (4, 5)
    yield from _deferral(tools, can_defer)
    for tool in tools:
        if tool.get("defer_loading") and "cache_control" in tool:
            yield f"Tool '{tool['name']}' cannot have both defer_loading=true and cache_control set"
    if set(_loaded("anthropic", body)) - {tool["name"] for tool in tools}:
        yield "tool_reference: no such tool in tools"
    blocks = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
    if not can_defer and any("tool_search" in one.get("type", "") for one in [*tools, *blocks]):
        yield "Input tag 'tool_search_tool' found does not match any of the expected tags"
    if not can_defer and any(block["type"] == "server_tool_use" for block in blocks):
        yield "Input tag 'server_tool_use' found does not match any of the expected tags"
    if not can_defer and _loaded("anthropic", body):
        yield "Input tag 'tool_reference' found does not match any of the expected tags"
    used = {block["id"] for block in blocks if block["type"] == "tool_use"}
    if used != {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}:
        yield "every tool_use must be followed by its tool_result"
    yield from _thoughts(body)
    roles = [message["role"] for message in body["messages"]]
    if any(one == after for one, after in pairwise(roles)):
        yield "roles must alternate"


def is_to_think(body: Json) -> bool:
    """Whether a request asks Claude to think."""
    return (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")


def has_thought(content: Any) -> bool:
    """Whether a turn of Claude that calls tools begins with the thought that led to the calls."""
    if not any(block["type"] == "tool_use" for block in content):
        return True
    first = content[0]
    number = str(first.get("signature")).removeprefix("signed ")
    return bool(first["type"] == "thinking" and first["thinking"] == f"thought {number}")


def _thoughts(body: Json) -> Iterator[str]:
    turns = [m["content"] for m in body["messages"] if m["role"] == "assistant"]
    if is_to_think(body) and turns and isinstance(turns[-1], list) and not has_thought(turns[-1]):
        yield f"Expected `thinking`, but found `{turns[-1][0]['type']}`"


def _responses(body: Json) -> Iterator[str]:
    tools = list(_functions(body.get("tools", [])))
    yield from _names([_name(tool) for tool in tools if not _is_deferred(tool)], MAX_TOOLS)
    can_defer = version_of("gpt", body["model"]) >= (5, 4)
    yield from _deferral(tools, can_defer)
    choice = body.get("tool_choice")
    allowed = choice.get("tools", [choice]) if isinstance(choice, dict) else []
    if {one["name"] for one in allowed if "name" in one} - {tool["name"] for tool in tools}:
        yield "Tool choice 'function' not found in 'tools' parameter."
    items = body["input"] if isinstance(body["input"], list) else []
    kinds = [one.get("type", "") for one in [*body.get("tools", []), *items]]
    if not can_defer and any("tool_search" in kind for kind in kinds):
        yield "tool_search is not supported by this model"
    for call, output in (
        ("function_call", "function_call_output"),
        ("tool_search_call", "tool_search_output"),
    ):
        called, told = (
            {item["call_id"] for item in items if item.get("type") == kind}
            for kind in (call, output)
        )
        answers_earlier = body.get("previous_response_id") and called <= told
        if called != told and not answers_earlier:
            yield f"No tool output found for {call}"


def _names(names: list[str], limit: int) -> Iterator[str]:
    if len(names) > limit:
        yield f"tools: array too long, expected at most {limit}, got {len(names)}"
    if len(set(names)) < len(names):
        yield "tools: names must be unique"


def _deferral(tools: list[Json], can_defer: bool) -> Iterator[str]:
    deferred = [tool for tool in tools if _is_deferred(tool)]
    if deferred and not can_defer:
        yield "defer_loading is not supported by this model"
    if deferred and len(deferred) == len(tools) and "input_schema" in deferred[0]:
        yield "at least one tool must not be deferred"


def _functions(tools: list[Json]) -> Iterator[Json]:
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from ({**one, "namespace": tool["name"]} for one in tool["tools"])
        elif "name" in tool:
            yield tool


def _name(tool: Json) -> str:
    return f"{tool['namespace']}.{tool['name']}" if "namespace" in tool else str(tool["name"])


def _is_deferred(tool: Json) -> bool:
    return bool(tool.get("defer_loading"))


def _loaded(interface: str, body: Json) -> list[str]:
    """Names of the tools that results of searches have loaded."""
    if interface == "openai-responses":
        items: list[Any] = body["input"] if isinstance(body["input"], list) else []
        outputs = [item for item in items if item.get("type") == "tool_search_output"]
        return [_name(tool) for item in outputs for tool in _functions(item["tools"])]
    blocks = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
    return [
        inner["tool_name"]
        for block in blocks
        if block["type"] == "tool_result" and isinstance(block["content"], list)
        for inner in block["content"]
        if inner["type"] == "tool_reference"
    ]
