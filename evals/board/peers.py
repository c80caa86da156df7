"""Adapters of other people's selectors: tools in, names out, each with its own defaults.

Every one gets name, description and schema of each tool, as its library takes them.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from evals.rankers import Answer, Search, package
from toolscout.contract.tools import Tool

DEPTH = 20
"""Names that a peer is asked for once; shorter answers are the beginning of it."""


def ranked(rank: Callable[[str, int], list[str]], depth: int = DEPTH) -> Search:
    """Return a search of a peer whose shorter answers are the beginning of longer ones."""

    @lru_cache(maxsize=1)
    def longest(query: str) -> list[str]:
        return rank(query, depth)

    return lambda query, top_k: Answer(longest(query)[:top_k])


def schema_of(tool: Tool) -> dict[str, Any]:
    """Return the JSON Schema of a tool's input; one without properties if it has none."""
    definition = msgspec.json.decode(tool.definition) if bytes(tool.definition) else {}
    inner = definition.get("function", definition)
    keys = ("inputSchema", "input_schema", "parameters")
    schema = next((inner[key] for key in keys if isinstance(inner.get(key), dict)), inner)
    usable = isinstance(schema.get("properties"), dict)
    return schema if usable else {"type": "object", "properties": {}}


def fields_of(tool: Tool) -> dict[str, Any]:
    """Return a tool as functions are described."""
    about = tool.description or ""
    return {"name": tool.name, "description": about, "parameters": schema_of(tool)}


def ratel(tools: Sequence[Tool]) -> Search:
    """Search ratel's catalog with its default, BM25."""
    with package("ratel-ai"):
        import ratel_ai
    registry = ratel_ai.ToolRegistry()
    made = [
        ratel_ai.Tool(tool.name, tool.name, tool.description or "", schema_of(tool))
        for tool in tools
    ]

    async def register() -> None:
        await registry.register(made)

    asyncio.run(register())
    return ranked(lambda query, depth: [hit.tool_id for hit in registry.search(query, depth)])


def callbus(tools: Sequence[Tool]) -> Search:
    """Search with callbus's BM25, what it has without its embedding server; hits above zero."""
    with package("callbus"):
        from callbus.adapters.bm25 import BM25Scorer
        from callbus.domain import Query
        from callbus.domain import Tool as Entry
    scorer = BM25Scorer()
    scorer.index(Entry(tool.name, fields_of(tool)) for tool in tools)

    def rank(query: str, depth: int) -> list[str]:
        (found,) = scorer.rank([Query("q", query, {})], depth)
        pairs = zip(found.tool_ids, found.scores, strict=True)
        return [name for name, score in pairs if score > 0]

    return ranked(rank)


def fastmcp(tools: Sequence[Tool]) -> Search:
    """Search with fastmcp's BM25SearchTransform over its own tools."""
    with package("fastmcp"):
        from fastmcp.server.transforms.search import BM25SearchTransform
        from fastmcp.tools.base import Tool as Entry
    transform = BM25SearchTransform(max_results=DEPTH)
    made = [Entry(**fields_of(tool)) for tool in tools]
    search = transform._search

    def rank(query: str, _: int) -> list[str]:
        return [tool.name for tool in asyncio.run(search(made, query))]

    return ranked(rank)
