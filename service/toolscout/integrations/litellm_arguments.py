"""Choose the arguments of a LiteLLM request that go out again after a search.

Between the first forward and the next one LiteLLM adds arguments of its own to a request, among
them `deployment` with the provider's key. So only what is listed here is forwarded again, and what
the caller itself sent for its provider.
"""

import copy
from collections.abc import Collection, Mapping
from typing import Any

Json = dict[str, Any]

CHAT_COMPLETIONS = frozenset(
    (
        "audio",
        "frequency_penalty",
        "function_call",
        "functions",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "messages",
        "metadata",
        "modalities",
        "model",
        "moderation",
        "n",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning_effort",
        "response_format",
        "safety_identifier",
        "seed",
        "service_tier",
        "stop",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "user",
        "verbosity",
        "web_search_options",
    )
)
"""Body parameters of OpenAI's `POST /v1/chat/completions`."""

MESSAGES = frozenset(
    (
        "betas",
        "billing_policy",
        "cache_control",
        "compaction",
        "container",
        "context_management",
        "diagnostics",
        "fallback_credit_token",
        "fallbacks",
        "inference_geo",
        "max_tokens",
        "mcp_servers",
        "messages",
        "metadata",
        "model",
        "output_config",
        "output_format",
        "service_tier",
        "speed",
        "stop_sequences",
        "stream",
        "system",
        "temperature",
        "thinking",
        "thread",
        "tool_choice",
        "tools",
        "top_k",
        "top_p",
        "user_profile_id",
        "workspace_id",
    )
)
"""Body parameters of Anthropic's `POST /v1/messages`, stable and beta."""

RESPONSES = frozenset(
    (
        "access_programs",
        "background",
        "background_options",
        "context_management",
        "conversation",
        "image",
        "include",
        "input",
        "instructions",
        "max_output_tokens",
        "max_tool_calls",
        "metadata",
        "model",
        "moderation",
        "parallel_tool_calls",
        "previous_response_id",
        "prompt",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning",
        "safety_identifier",
        "service_tier",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "truncation",
        "user",
    )
)
"""Body parameters of OpenAI's `POST /v1/responses`."""

LITELLM = frozenset(
    (
        # Shape of the request to the provider.
        "additional_drop_params",
        "allowed_openai_params",
        "api_version",
        "cache_control_injection_points",
        "drop_params",
        "extra_body",
        "extra_headers",
        "headers",
        "include_server_side_tool_invocations",
        "merge_reasoning_content_in_choices",
        "mock_response",
        "model_file_id_mapping",
        "organization",
        "provider_specific_header",
        # Routing, retries and time limits.
        "allowed_model_region",
        "client_side_timeout",
        "content_policy_fallbacks",
        "context_window_fallback_dict",
        "context_window_fallbacks",
        "disable_fallbacks",
        "enable_tag_filtering",
        "fallbacks",
        "max_retries",
        "num_retries",
        "request_timeout",
        "stream_timeout",
        "timeout",
        # Whose request it is: keys, teams, budgets and spend are tracked by these.
        "litellm_metadata",
        "litellm_session_id",
        "litellm_trace_id",
        "no-log",
        "tags",
        # Caching, guardrails and prompts.
        "assistant_continue_message",
        "cache",
        "caching",
        "enable_prompt_caching",
        "ensure_alternating_roles",
        "guardrails",
        "prompt_environment",
        "prompt_id",
        "prompt_label",
        "prompt_variables",
        "prompt_version",
        "supports_system_message",
        "ttl",
        "user_continue_message",
    )
)
"""Arguments that LiteLLM documents, or that its proxy derives from keys and headers."""

FORWARDED = CHAT_COMPLETIONS | MESSAGES | RESPONSES | LITELLM

OWN_CONNECTION = frozenset(
    (
        "api_base",
        "api_key",
        "base_url",
        "deployment",
        "litellm_credential_name",
        "litellm_params",
        "user_config",
    )
)
"""Arguments of a request that is served by other credentials than those of the proxy's models."""


def has_own_connection(data: Mapping[str, Any]) -> bool:
    """Tell whether a request needs credentials that are never forwarded a second time."""
    return not OWN_CONNECTION.isdisjoint(data)


def provider_fields(data: Mapping[str, Any], owned: Collection[str]) -> Json:
    """Return the fields of the caller's own body that only its provider knows.

    LiteLLM passes such fields (`guided_json`, `min_p`) on to the provider. A second forward without
    them would be a different request, and coming from the caller they hold no secret of the proxy.

    Args:
        data: the request before it is routed; its `proxy_server_request` has the caller's body.
        owned: names of arguments that belong to LiteLLM.
    """
    received = data.get("proxy_server_request")
    body = received.get("body") if isinstance(received, Mapping) else None
    if not isinstance(body, Mapping):
        return {}
    known = FORWARDED | OWN_CONNECTION | frozenset(owned)
    return {key: value for key, value in body.items() if key not in known and key in data}


def forwardable(data: Mapping[str, Any]) -> Json:
    """Return the arguments of a request that may be forwarded again."""
    return {key: value for key, value in data.items() if key in FORWARDED}


def private_copy(arguments: Mapping[str, Any]) -> Json:
    """Copy what LiteLLM changes in place while it serves a forward.

    Metadata is copied at its first level only: it holds live objects, such as a trace span.
    """
    copied = dict(arguments)
    for key in ("messages", "input", "tools"):
        if key in copied:
            copied[key] = copy.deepcopy(copied[key])
    for key in ("metadata", "litellm_metadata"):
        if isinstance(copied.get(key), dict):
            copied[key] = dict(copied[key])
    return copied
