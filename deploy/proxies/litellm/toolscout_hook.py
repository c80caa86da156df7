"""Tool discovery inside the LiteLLM proxy.

    litellm_settings:
      callbacks: toolscout_hook.hook

Before a call the tools are deferred; after it the searches the model asked for are answered and the
request goes out again through the proxy's own router, so fallbacks, budgets and spend tracking hold
for every round. Whatever goes wrong here, the proxy serves the request as it would without this.

    TOOLSCOUT_ENDPOINT   where the service is, by default http://127.0.0.1:8080
    TOOLSCOUT_API_KEY    its key
    TOOLSCOUT_CONFIG     or a YAML file with `pipes.tool_discovery` instead of these two
    TOOLSCOUT_ROLLOUT    off, dark, shadow, percent:N or on (default)
    TOOLSCOUT_DEFER_ABOVE  requests with at most this many tools are left alone, by default 5
"""

import logging
import os
from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import Any

import litellm
from litellm.integrations.custom_logger import CustomLogger

from toolscout.client import AsyncToolDiscovery, DiscoveryConfig, load
from toolscout.client.config import ApiConfig
from toolscout.client.loop import Turn
from toolscout.client.streams.sse import Splitter

SHAPES = {"completion": "openai", "acompletion": "openai", "anthropic_messages": "anthropic"}
"""Call types whose tools are deferred, and the shape their bodies have."""

INTERNAL = ("litellm_logging_obj", "litellm_call_id", "proxy_server_request", "secret_fields")
"""What LiteLLM puts into a request for one call and makes anew for the next."""

MAX_TURNS = 10_000
"""Turns under way; one that never came back is forgotten in the end."""

logger = logging.getLogger("toolscout.litellm")


class ToolscoutHook(CustomLogger):
    """Defers tools before a call, answers searches after it."""

    def __init__(self, discovery: AsyncToolDiscovery | None = None) -> None:
        super().__init__()
        self.discovery = discovery or _from_environment()
        self._turns: OrderedDict[str, tuple[Turn, str]] = OrderedDict()

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> dict[str, Any]:
        """Put the search tool in the place of the tools."""
        shape = SHAPES.get(call_type)
        call = data.get("litellm_call_id")
        if shape is None or not call or not data.get("tools"):
            return data
        await self.discovery.look_on(data, shape)
        # Equal first messages of different keys are different conversations.
        begun = self.discovery.begin(data, shape, scope=str(user_api_key_dict.api_key or ""))
        if not isinstance(begun, Turn):
            data.update(begun)
            return data
        self._turns[call] = (begun, call_type)
        while len(self._turns) > MAX_TURNS:
            self._turns.popitem(last=False)
        data["tools"] = begun.request["tools"]
        return data

    async def async_post_call_success_hook(
        self, data: dict[str, Any], user_api_key_dict: Any, response: Any
    ) -> Any:
        """Answer searches until the model does something else; no trace of them is left."""
        turn, call_type = self._turns.pop(data.get("litellm_call_id", ""), (None, ""))
        if turn is None:
            return response
        dumped = response if isinstance(response, dict) else response.model_dump()

        async def forward(body: dict[str, Any]) -> dict[str, Any]:
            answer = await _route({**data, **body}, call_type)
            return answer if isinstance(answer, dict) else answer.model_dump()

        final = await self.discovery.resume(turn, dumped, forward)
        if final == dumped:
            return response
        return final if isinstance(response, dict) else litellm.ModelResponse(**final)

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncIterator[Any]:
        """The same while it streams: searches are cut out, the rest goes on as it comes."""
        turn, call_type = self._turns.pop(request_data.get("litellm_call_id", ""), (None, ""))
        if turn is None:
            async for chunk in response:
                yield chunk
            return

        async def forward(body: dict[str, Any]) -> AsyncIterator[bytes]:
            opened = await _route({**request_data, **body}, call_type)
            async for piece in _as_bytes(opened):
                yield piece

        shape = SHAPES[call_type]
        pieces = self.discovery.resume_stream(turn, shape, _as_bytes(response), forward)
        if shape == "anthropic":  # the proxy passes these on as the bytes they are
            async for piece in pieces:
                yield piece
            return
        events = Splitter()
        async for piece in pieces:
            for event in events.feed(piece):
                if event.data is not None:
                    yield litellm.ModelResponseStream(**event.data)

    async def async_post_call_failure_hook(
        self,
        request_data: dict[str, Any],
        original_exception: Exception,
        user_api_key_dict: Any,
        traceback_str: str | None = None,
    ) -> None:
        """Forget the turn of a call that failed."""
        self._turns.pop(request_data.get("litellm_call_id", ""), None)


async def _as_bytes(stream: Any) -> AsyncIterator[bytes]:
    """A stream as server-sent events, whether it comes as bytes or as LiteLLM's chunks."""
    async for chunk in stream:
        if isinstance(chunk, bytes):
            yield chunk
        elif isinstance(chunk, str):
            yield chunk.encode()
        else:
            yield b"data: " + chunk.model_dump_json(exclude_none=True).encode() + b"\n\n"


async def _route(body: dict[str, Any], call_type: str) -> Any:
    """One more call through the proxy's router, with everything the first one had."""
    from litellm.proxy.proxy_server import llm_router

    if llm_router is None:
        raise RuntimeError("the proxy has no model_list to route a search's next request by")
    arguments = {key: value for key, value in body.items() if key not in INTERNAL}
    if call_type == "anthropic_messages":
        return await llm_router.aanthropic_messages(**arguments)
    return await llm_router.acompletion(**arguments)


def _from_environment() -> AsyncToolDiscovery:
    path = os.environ.get("TOOLSCOUT_CONFIG")
    if path:
        config = load(path)
    else:
        endpoint = os.environ.get("TOOLSCOUT_ENDPOINT", "http://127.0.0.1:8080")
        api = ApiConfig(endpoint, os.environ.get("TOOLSCOUT_API_KEY", ""))
        config = DiscoveryConfig(enabled=True, strategy="api", api=api)
    return AsyncToolDiscovery(
        config,
        rollout=os.environ.get("TOOLSCOUT_ROLLOUT", "on"),
        defer_above=int(os.environ.get("TOOLSCOUT_DEFER_ABOVE", "5")),
    )


hook = ToolscoutHook()
