"""What real tools cost in a prompt, counted with a real model's tokenizer (o200k_base)."""

import json
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp import Client

from tests.contract.mcp_client import session
from tests.in_process import serving
from tests.support import Server

pytestmark = pytest.mark.anyio

TOOLS_OF_FLOW = 258


@cache
def encoding() -> Any:
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        import bpe_openai  # takes a second and a half

        return bpe_openai.get_encoding("o200k_base")


def tokens(text: str) -> int:
    return len(encoding().encode_ordinary(text))


@pytest.fixture(scope="module")
def facade(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("tokens"), mcp=True) as started:
        yield started


def registered(server: Server, data: Path, size: int, most: int | None = None) -> list[Any]:
    """Return the tools of one of the real catalogs, registered as the only one."""
    tools: list[Any] = json.loads((data / "catalogs" / f"{size}.json").read_text("utf-8"))[:most]
    assert server.client.put("/v1/catalogs/real", json={"tools": tools}).is_success
    return tools


@pytest.mark.parametrize("size", [50, 300, 1_000])
def test_a_tool_in_brief_is_sixty_tokens_on_average(facade: Server, data: Path, size: int):
    registered(facade, data, size)
    page = facade.get(f"/v1/catalogs/real/tools?detail=brief&page_size={size}").json()
    spelled = [msgspec.json.encode(tool).decode() for tool in page["tools"]]
    assert len(spelled) == size
    assert sum(map(tokens, spelled)) / size <= 60


async def read(client: Client, tool: str, **arguments: Any) -> tuple[int, Any]:
    """Return the tokens of what a model reads of a call, and what the call found."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    (content,) = answer.content
    return tokens(content.text), answer.structured_content  # type: ignore[union-attr]


async def test_lines_and_one_schema_cost_a_sixth_of_all_schemas(facade: Server, data: Path):
    """An agent reads ten lines and the tool that it calls, instead of ten whole tools."""
    tools = registered(facade, data, 300, TOOLS_OF_FLOW)
    stepwise = at_once = 0
    async with session(facade) as client:
        for tool in tools[::4]:
            query = tool["description"][:200] or tool["name"]
            lines, found = await read(client, "search_tools", query=query)
            if found["tools"]:
                name = found["tools"][0]["name"]
                schema, _ = await read(client, "tool_info", name=name, detail="full")
                stepwise += lines + schema
                whole, _ = await read(client, "search_tools", query=query, detail="full")
                at_once += whole
    assert 1 - stepwise / at_once >= 0.82
