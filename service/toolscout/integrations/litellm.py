"""Tool discovery inside the LiteLLM proxy.

    litellm_settings:
      callbacks: toolscout.integrations.litellm.hook

Before a call the hook defers the tools. After it, the hook answers the searches that the model
asked for and forwards the request again through the proxy's own router, so fallbacks, budgets and
spend tracking hold for every forward. A request that the hook cannot handle is served without it.
"""

import copy
import os
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import httpx2
import litellm
from litellm.integrations.custom_logger import CustomLogger
from litellm.types.llms.openai import GenericEvent

from toolscout.common.lru import Lru
from toolscout.integrations.litellm_settings import build_from_environment
from toolscout.turns.drivers.exchange import ProviderError
from toolscout.turns.drivers.tool_discovery import AsyncToolDiscovery
from toolscout.turns.events import Failure, Sent
from toolscout.turns.providers import ProviderName
from toolscout.turns.providers.stream import Splitter
from toolscout.turns.turn import Turn

Json = dict[str, Any]

SHAPES: dict[str, ProviderName] = {
    "completion": "openai",
    "acompletion": "openai",
    "anthropic_messages": "anthropic",
    "aresponses": "openai-responses",
}
"""Call types whose tools are deferred, and the shape of their bodies."""

METHODS = {"completion": "acompletion", "anthropic_messages": "aanthropic_messages"}
"""The router's methods that have other names."""

OWN_CONNECTION = {
    "api_base",
    "api_key",
    "base_url",
    "deployment",
    "litellm_credential_name",
    "litellm_params",
    "user_config",
}
"""Arguments of a request that is served by other credentials than those of the proxy's models."""

OF_ONE_FORWARD = {
    "litellm_call_id",
    "litellm_logging_obj",
    "proxy_server_request",
    "secret_fields",
    "shared_session",
}
"""Arguments that the proxy makes for one forward, secrets and live objects among them."""

COPIED = ("messages", "input", "tools")

CHANGED = frozenset((*COPIED, "tool_choice"))
"""Arguments that a prepared request may have otherwise than its caller sent them."""

NATIVE_PROVIDERS = {"anthropic": "anthropic", "openai-responses": "openai"}
"""The provider whose API LiteLLM passes requests of an interface on to as they are."""

FALLBACKS = ("fallbacks", "context_window_fallbacks", "content_policy_fallbacks")
"""Settings of the router, and arguments, by which other models may answer."""

ADDRESSES = {"openai": "api.openai.com", "anthropic": "api.anthropic.com"}
"""Where LiteLLM sends the requests of a provider, if nothing says otherwise."""

BASES = ("api_base", "base_url")
BASE_VARIABLES = ("OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE")

MAX_TURNS = 10_000
"""Turns in memory. The oldest is dropped first: its client went away without an answer."""


class OpenTurn(NamedTuple):
    """A turn whose first forward LiteLLM is making."""

    turn: Turn
    call_type: str
    sent: frozenset[str]
    """Names of the arguments that go out again; what is added later, with keys, does not."""


class ToolscoutHook(CustomLogger):
    """Defers tools before a call and answers searches after it."""

    def __init__(self, discovery: AsyncToolDiscovery | None = None) -> None:
        super().__init__()
        self.discovery = discovery or build_from_environment()
        self._open: Lru[str, OpenTurn] = Lru(MAX_TURNS)

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: Json, call_type: str
    ) -> Json:
        """Replace the tools by the search tool."""
        shape = SHAPES.get(call_type)
        call = data.get("litellm_call_id")
        if not shape or not call or not data.get("tools") or not OWN_CONNECTION.isdisjoint(data):
            return data
        # The turn keeps it as the original, and `data` is changed below.
        model, address = _find_deployment(data, shape)
        request = {**data, "model": model}
        # The scope keeps equal first messages of different keys apart.
        scope = str(user_api_key_dict.api_key or "")
        begun = await self.discovery.prepare(request, shape, scope=scope, address=address)
        prepared = begun.request if isinstance(begun, Turn) else begun
        if isinstance(begun, Turn):
            self._open.put(call, OpenTurn(begun, call_type, frozenset(data) - OF_ONE_FORWARD))
        if prepared is not request:
            for key in CHANGED & data.keys():
                del data[key]
            data |= copy.deepcopy({key: prepared[key] for key in CHANGED & prepared.keys()})
        return data

    async def async_post_call_success_hook(
        self, data: Json, user_api_key_dict: Any, response: Any
    ) -> Any:
        """Answer searches until the model does something else, and hide them from the caller."""
        opened = self._take(data)
        if opened is None:
            return response
        dumped = _convert(response)

        async def forward(body: Json) -> Json:
            return _convert(await _route(body, opened.call_type))

        final = await self.discovery.resume(opened.turn, dumped, forward)
        if final == dumped:
            return response
        return final if isinstance(response, dict) else type(response)(**final)

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: Json
    ) -> AsyncIterator[Any]:
        """Do the same for a stream: cut the searches out and pass the rest on as it comes."""
        opened = self._take(request_data)
        if opened is None:
            async for chunk in response:
                yield chunk
            return

        chat = SHAPES[opened.call_type] == "openai"

        async def forward(body: Json) -> AsyncIterator[bytes]:
            try:
                stream = await _route(body, opened.call_type)
            except Exception as error:
                # Of these streams the proxy writes errors of chat completions only.
                raise (error if chat else _as_provider_error(error)) from error
            async for piece in _as_bytes(stream):
                yield piece

        pieces = self.discovery.stream_turn(opened.turn, _as_bytes(response), forward)
        if SHAPES[opened.call_type] == "anthropic":  # the proxy sends these on as bytes
            async for piece in pieces:
                yield piece
            return
        chunk = litellm.ModelResponseStream if chat else GenericEvent
        events = Splitter()
        async for piece in pieces:
            for event in map(events.read, events.cut(piece)):
                if event.data is not None:
                    yield chunk(**event.data)

    async def async_post_call_failure_hook(
        self,
        request_data: Json,
        original_exception: Exception,
        user_api_key_dict: Any,
        traceback_str: str | None = None,
    ) -> None:
        """Drop the turn of a call that failed, and what was refused of its form and its tools."""
        opened = self._open.pop(request_data.get("litellm_call_id", ""))
        if opened is not None:  # LiteLLM tries no other request
            opened.turn.handle(Failure(original_exception, can_retry=False))

    def _take(self, data: Json) -> OpenTurn | None:
        """Remove a turn from memory, and give it the request as the first forward had it.

        Guardrails that run after this hook may have masked the messages; they stay masked.
        """
        opened = self._open.pop(data.get("litellm_call_id", ""))
        if opened is not None:
            fields = {key: data[key] for key in data if key in opened.sent}
            opened.turn.handle(Sent(fields))
        return opened


def _convert(response: Any) -> Json:
    """Return a response as a body whose message the provider takes back.

    LiteLLM gives every message `provider_specific_fields`, mostly of nulls alone, which OpenAI
    refuses. With values they stay: Gemini has its thought signatures there.
    """
    if isinstance(response, dict):
        return response
    dumped: Json = response.model_dump(exclude_none=True)
    for choice in dumped.get("choices", []):
        message = choice.get("message", {})
        fields = message.get("provider_specific_fields", {})
        if all(value is None for value in fields.values()):
            message.pop("provider_specific_fields", None)
    return dumped


async def _as_bytes(stream: Any) -> AsyncIterator[bytes]:
    """Yield server-sent events from a stream of bytes, text or LiteLLM's chunks."""
    async for chunk in stream:
        if isinstance(chunk, bytes):
            yield chunk
        elif isinstance(chunk, str):
            yield chunk.encode()
        else:
            yield b"data: " + chunk.model_dump_json(exclude_none=True).encode() + b"\n\n"


def _as_provider_error(error: Exception) -> Exception:
    """Return an error of the router as one of the provider, with which a stream can end."""
    status = getattr(error, "status_code", None)
    if not isinstance(status, int):
        return error
    described = {"type": type(error).__name__, "code": str(status), "message": str(error)}
    return ProviderError(httpx2.Response(status, json={"error": described}))


def _find_deployment(data: Json, shape: ProviderName) -> tuple[str, str]:
    """Return the model behind a name of the proxy, and the host that it is at.

    The model is empty if others may answer, or it is unknown; so it is where LiteLLM writes the
    request anew for its provider, with what it knows of deferred tools. The host is empty unless it
    is that of the provider itself.
    """
    from litellm.proxy.proxy_server import llm_router

    if any(data.get(key) or getattr(llm_router, key, None) for key in FALLBACKS):
        return "", ""
    deployments = llm_router.get_model_list(model_name=data.get("model")) if llm_router else None
    parameters = [deployment["litellm_params"] for deployment in deployments or ()]
    models = {(str(one["model"]), str(one.get("custom_llm_provider") or "")) for one in parameters}
    if len(models) != 1:
        return "", ""
    ((model, custom),) = models
    provider, _, name = model.partition("/")
    has_base = any(one.get(key) for one in parameters for key in BASES) or any(
        map(os.environ.get, BASE_VARIABLES)
    )
    address = "" if has_base else ADDRESSES.get(custom or provider, "")
    return name if NATIVE_PROVIDERS.get(shape, provider) == provider else "", address


async def _route(body: Json, call_type: str) -> Any:
    """Forward a request once more through the proxy's router."""
    from litellm.proxy.proxy_server import llm_router

    if llm_router is None:
        raise RuntimeError("the proxy has no model_list to route the next forward by")
    call = getattr(llm_router, METHODS.get(call_type, call_type))
    return await call(**_copy_private(body))


def _copy_private(arguments: Json) -> Json:
    """Copy what LiteLLM changes in place while it serves a forward.

    Metadata is copied at its first level only: it holds live objects, such as a trace span.
    """
    deep = {key: copy.deepcopy(arguments[key]) for key in arguments if key in COPIED}
    flat = {
        key: dict(arguments[key])
        for key in ("metadata", "litellm_metadata")
        if isinstance(arguments.get(key), dict)
    }
    return {**arguments, **deep, **flat}


hook = ToolscoutHook()
